-- What each block reads is in the index whole, so that no statistics make another one look as good that has all old requests.
drop index pay_requests_open;
create index pay_requests_open on pay_requests (chain, id, address) where is_open = 1 and is_swept = 0;
create index pay_requests_newest on pay_requests (id, expires_at) where is_open = 1;
