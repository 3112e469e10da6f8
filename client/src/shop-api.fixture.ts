// The routes of the server, for createClient<Api>(url) of sixwire/client.
// Written by `sixwire types`: run it again when the routes change.

type _search_result = {
  /** In the order of `sort`. */
  found: _Record[]
  size: number
  best?: _Record
} & Record<string, unknown>

type _Record = {
  title: string
  price: number | null
}

export interface Api {
  /** What was asked */
  'GET /shop/:shelf/items/:item': {
    query: {
      soon?: boolean | undefined
      size?: number | undefined
      text?: string | undefined
    }
    reply: {
      shelf: string
      item: string
      query: Record<string, unknown>
    }
    errors: never
  }
  /** Order */
  'POST /shop/orders': {
    body: {
      count: number
    }
    reply: {
      id: string
    } | {
      later: boolean
    }
    errors: 'SOLD_OUT'
  }
  /** Take a form */
  'POST /shop/form': {
    body: URLSearchParams
    reply: {
      code: string
    }
    errors: never
  }
  /** Take bytes */
  'POST /shop/bytes': {
    body: Blob | Uint8Array<ArrayBuffer>
    reply: {
      text: string
      type?: string
    }
    errors: never
  }
  /** Take a picture */
  'POST /shop/pictures': {
    body: FormData
    reply: {
      name: string
      alt: string
    }
    errors: never
  }
  /** A label */
  'GET /shop/label': {
    reply: string
    errors: never
  }
  /** Take and answer every kind of value * / */
  'POST /shop/searches/:id': {
    query: {
      text: string
      page?: number | undefined
    }
    body: {
      sort?: 'title' | 'author\'s' | undefined
      'in-stock'?: boolean | undefined
      tags?: (string | null)[] | undefined
      ranges: {
        from: number
        to?: number | undefined
      }[]
      names: Record<string, number[]>
      kind: 'book'
      free: unknown
    }
    reply: _search_result | _search_result[] | undefined
    errors: 'NOT_FOUND' | 'SOLD_OUT'
    idempotent: true
  }
  /** A picture */
  'GET /shop/picture': {
    reply: Blob
    errors: never
  }
}
