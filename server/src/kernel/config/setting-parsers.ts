import { isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'

import { isIpNetwork } from '../../base/ip-address.ts'
import { StartError } from '../../base/start-error.ts'

// Each reads the text of a setting; `name` is the variable or the option that it is from.

export const settingError = (name: string, why: string): StartError => new StartError(`${name}: ${why}`)

export function text(value: string, name: string): string {
  if (value.trim() === '') throw settingError(name, 'it is empty')
  return value
}

export const list = (value: string): string[] =>
  value
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)

export function choice<const C extends string>(...choices: C[]): (value: string, name: string) => C {
  return (value, name) => {
    const found = choices.find((one) => one === value)
    if (found === undefined) throw settingError(name, `"${value}" is not one of ${choices.join(', ')}`)
    return found
  }
}

export function port(value: string, name: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw settingError(name, `"${value}" is not a port: a number from 0 to 65535`)
  return Number(value)
}

export function streamCount(value: string, name: string): number {
  if (!/^\d{1,6}$/.test(value))
    throw settingError(name, `"${value}" is not a number of streams: a whole number from 0 to 999999`)
  return Number(value)
}

/** `auto` for as many as there are cores. */
export function workerCount(value: string, name: string): number {
  if (value === 'auto') return availableParallelism()
  if (!/^[1-9]\d{0,2}$/.test(value))
    throw settingError(name, `"${value}" is not a number of workers: a whole number from 1 to 999, or auto`)
  return Number(value)
}

export function dayCount(value: string, name: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value))
    throw settingError(name, `"${value}" is not a number of days: a whole number from 1 to 99999`)
  return Number(value)
}

/** In the form that URLs have once they are parsed: signatures are made over it, and compared byte by byte. */
export function webAddress(value: string, name: string): string {
  // What is before an @ may be a password.
  const quoted = value.includes('@') ? 'what is set' : `"${value}"`
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw settingError(name, `${quoted} is not an address like https://shop.example`)
  if (url.username !== '' || url.password !== '') throw settingError(name, 'the address must not name a user')
  if (/[?#]/.test(value)) throw settingError(name, `${quoted} must end before the "?" or "#"`)
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** In the form that URLs have once they are parsed, in which the `Host` of a request is compared. */
function hostName(value: string, name: string): string {
  const address = `http://${isIPv6(value) ? `[${value}]` : value}`
  const isName = isIPv6(value.replace(/^\[(.*)\]$/, '$1')) || !/[\s:/?#@\\*[\]]/.test(value)
  if (!isName || !URL.canParse(address))
    throw settingError(
      name,
      `"${value}" is neither a host name without a port, like demo.example, nor a network, like 172.16.0.0/12`,
    )
  return new URL(address).hostname
}

/** Who calls from elsewhere: under which host names, and from which networks. */
export type Hosts = { readonly names: readonly string[]; readonly networks: readonly string[] }

export const hostNames = (value: string, name: string): string[] =>
  list(value).map((one) => hostName(one, name))

/** An address without a prefix length is a host name. */
export function hosts(value: string, name: string): Hosts {
  const { true: networks = [], false: names = [] } = Object.groupBy(
    list(value),
    (one) => `${one.includes('/') && isIpNetwork(one)}`,
  )
  return { names: names.map((one) => hostName(one, name)), networks }
}

export function databaseAddress(value: string, name: string): string {
  if (/^postgres(ql)?:\/\//.test(value) || (/^sqlite:./.test(value) && value !== 'sqlite::memory:'))
    return value
  // Without the value itself: it may hold a password.
  throw settingError(name, 'write sqlite:path/to/file.db or postgres://user:password@host:port/name')
}

export function proxies(value: string, name: string): number | string {
  if (/^\d{1,2}$/.test(value)) return Number(value)
  const isKnown = (one: string) => /^(loopback|linklocal|uniquelocal)$/.test(one) || isIpNetwork(one)
  const addresses = list(value)
  if (addresses.length > 0 && addresses.every(isKnown)) return addresses.join(',')
  throw settingError(
    name,
    `"${value}" is neither a number of proxies nor a list of their addresses or networks`,
  )
}

/** In the form in which browsers send them. */
export const origins = (value: string, name: string): string[] =>
  list(value).map((one) => {
    if (one === '*') return one
    if (one.includes('*'))
      throw settingError(name, `"${one}": * stands alone, for any origin; list the origins, joined by commas`)
    if (!/^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]+\/?$/i.test(one) || !URL.canParse(one))
      throw settingError(name, `"${one}" is not an origin like https://shop.example`)
    const { protocol, host, origin } = new URL(one)
    // Only of the web's own schemes does a URL have an origin: of capacitor://localhost it is "null".
    return origin === 'null' ? `${protocol}//${host}` : origin
  })

export const onOff = (value: string, name: string): boolean => choice('on', 'off')(value, name) === 'on'
