/** Resolves `tap` to lane-tap.js, for test files that a lane imports. */

/** @type {import('node:module').ResolveHook} */
export const resolve = (specifier, context, next) => specifier === 'tap' && !context.parentURL?.includes('/node_modules/')
  ? next(new URL('lane-tap.js', import.meta.url).href, context)
  : next(specifier, context)
