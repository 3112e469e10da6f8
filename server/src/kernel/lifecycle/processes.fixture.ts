import { Type } from '../../base/schema.ts'
import { json } from '../../http/bodies.ts'
import { route } from '../../http/route.ts'
import { defineWire } from '../wire/wire.ts'

/** A wire with a call and a job that both do nothing but what they are given, until that has settled. */
export const shopThat = (works: (what: 'order' | 'job', id: string) => Promise<void>) =>
  defineWire({
    name: 'shop',
    setup({ jobs }) {
      const deliver = jobs.define('shop.deliver', { payload: Type.Null() }, ({ id }) => works('job', id))
      return {
        routes: [
          route(
            'POST /shop/orders',
            {
              summary: 'Order',
              access: 'public',
              idempotent: true,
              body: json(Type.Object({})),
              reply: { 201: Type.Object({ _id: Type.String() }) },
            },
            async ({ recordId }) => {
              await works('order', recordId)
              return { _id: recordId }
            },
          ),
        ],
        service: { deliver: (id: string) => deliver.enqueue(null, { id }) },
      }
    },
  })
