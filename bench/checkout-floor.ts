// The `stripe` package used bare: checkout sessions created for so many callers at a time, for so long. Prints how many.
import Stripe from 'stripe'

const [address = '', secretKey = '', callers = '', seconds = ''] = process.argv.slice(2)
const { protocol, hostname, port, pathname } = new URL(address)

// The package takes no path in front of /v1, and the sandbox has one.
const httpClient = Stripe.createNodeHttpClient()
const send = httpClient.makeRequest.bind(httpClient)
httpClient.makeRequest = (host, at, path, ...rest) =>
  send(host, at, pathname.replace(/\/$/, '') + path, ...rest)

const stripe = new Stripe(secretKey, {
  protocol: protocol === 'https:' ? 'https' : 'http',
  host: hostname,
  port: Number(port),
  httpClient,
  maxNetworkRetries: 0,
  telemetry: false,
})
const until = performance.now() + Number(seconds) * 1000
let created = 0

async function work(): Promise<void> {
  for (; performance.now() < until; created++)
    await stripe.checkout.sessions.create({
      mode: 'payment',
      success_url: 'https://shop.example/thanks',
      cancel_url: 'https://shop.example/basket',
      line_items: [
        {
          quantity: 1,
          price_data: { currency: 'eur', unit_amount: 1099, product_data: { name: 'Momo, paperback' } },
        },
      ],
    })
}

await Promise.all(Array.from({ length: Number(callers) }, work))
console.log(created)
