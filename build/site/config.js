/** The configuration of VitePress, as a module that it reads. */

const KINDS = /^\| (start|how-to|reference|explanation) \|.*\n\|[-| ]+\n((?:\|.*\n)+)/gm
const LINK = /\[([^\]]+)\]\(([^)]+)\)/g

/**
 * The menu beside each page: the four kinds of pages, as docs/README.md lists them.
 * @param {string} text of docs/README.md, with links of the site
 */
const menuOf = (text) => [...text.matchAll(KINDS)].map(([, kind, rows]) => ({
  text: kind,
  items: rows.trim().split('\n').flatMap((row) => [...row.split('|')[1].matchAll(LINK)].map(([, words, to]) =>
    ({ text: words, link: new URL(to, 'site:/docs/').pathname.replace(/index\.md$/, '').replace(/\.md$/, '') })))
}))

/** @param {Map<string, string>} texts by file @param {string} out folder of the site @returns {string} */
export const configText = (texts, out) => `export default ${JSON.stringify({
  title: 'Freshet',
  description: 'Keeps the newest items of a fast feed in Valkey or Redis, and decides commands by rules',
  outDir: out,
  // names of metrics and commands break, so that the last column of a table is in view on a telephone
  head: [['style', {}, '.vp-doc td code { overflow-wrap: anywhere }']],
  // links to raw samples, which are copied beside the pages
  ignoreDeadLinks: false,
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [{ text: 'Documentation', link: '/docs/' }, { text: 'Experiments', link: '/experiments/' }],
    sidebar: menuOf(texts.get('docs/README.md') ?? '')
  },
  vite: { logLevel: 'warn' }
}, null, 2)}
`
