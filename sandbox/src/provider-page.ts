import type { FastifyReply } from 'fastify'

import { html, type Html } from './html.ts'

/**
 * The content security policy of a page with forms and without scripts. It has no form-action, because Chromium applies it
 * to the redirect that answers a form, too, and that leads to the application's own address.
 */
export const PROVIDER_PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A decimal amount with its thousands separated: `1250000.00` is `1,250,000.00`. */
export const grouped = (amount: string): string =>
  amount.replace(/^\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','))

/** A page that a stand-in shows in the user's browser. */
export type ProviderPage = {
  /** The address of the files that all pages of the sandbox share. */
  assets: string
  /** The address of the page's own style sheet, and the class of the document in it. */
  styleSheet: string
  theme?: string
  /** The name of the stand-in, and the protocol that it speaks. */
  provider: string
  protocol: string
  footer: string
}

/** Writes a page with the header of its stand-in. */
export const providerPage = (
  { assets, styleSheet, theme, provider, protocol, footer }: ProviderPage,
  title: string,
  content: Html,
): string =>
  html`<!doctype html>
    <html lang="en" ${theme !== undefined && html`class="${theme}"`}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${assets}/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="${assets}/base.css" />
        <link rel="stylesheet" href="${assets}/provider.css" />
        <link rel="stylesheet" href="${styleSheet}" />
      </head>
      <body>
        <header>
          <span class="mark" aria-hidden="true"></span>
          <p><strong>${provider}</strong> <span class="protocol">${protocol}</span></p>
        </header>
        <main>${content}</main>
        <footer>${footer}</footer>
      </body>
    </html>`.text

/** Sends a page that is never cached. */
export const sendPage = (reply: FastifyReply, status: number, page: string): FastifyReply =>
  reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PROVIDER_PAGE_POLICY,
      'cache-control': 'no-store',
    })
    .send(page)
