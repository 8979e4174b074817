/** What functions that run in the browser (`page.evaluate`) use. The DOM's own types clash with those of Node.js. */
declare const document: any
declare const window: any
declare const sessionStorage: any
declare const localStorage: any
