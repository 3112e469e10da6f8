-- Sends the requests of a file in turn: https://github.com/wg/wrk/blob/master/SCRIPTING
local requests, at = {}, 0

function init(args)
  for text in io.open(args[1], "rb"):read("*a"):gmatch("[^\1]+") do requests[#requests + 1] = text end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"seconds":%f,"p99":%f,"processor":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(99) / 1e3, os.clock(),
    e.connect + e.read + e.write + e.status + e.timeout))
end
