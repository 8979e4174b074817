/** The page at /docs in a real browser, light and dark: its text has the contrast of WCAG AA, and it loads nothing from elsewhere. */
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { startGateway } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

/** Texts of less than 4.5:1, with their ratios. @param {import('playwright-core').Page} page @returns {Promise<string[]>} */
const faintTexts = (page) => page.evaluate(() => {
  const { document, getComputedStyle } = /** @type {any} */ (window)
  const numbers = (/** @type {string} */ color) => (color.match(/[\d.]+/g) ?? []).map(Number)
  const over = (/** @type {number[]} */ [r, g, b, alpha = 1], /** @type {number[]} */ below) =>
    [r, g, b].map((part, i) => part * alpha + below[i] * (1 - alpha))
  /** of elements that were looked at @type {Map<any, number[]>} */
  const grounds = new Map([[null, [255, 255, 255]]])
  /** @param {any} element @returns {number[]} */
  const groundOf = (element) => {
    const known = grounds.get(element)
    if (known) return known
    const ground = over(numbers(getComputedStyle(element).backgroundColor), groundOf(element.parentElement))
    grounds.set(element, ground)
    return ground
  }
  const luminance = (/** @type {number[]} */ color) => {
    const [r, g, b] = color.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const faint = []
  const walker = document.createTreeWalker(document.body, 4)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.textContent.trim() === '' || !element.checkVisibility() || element.closest('script, style, option')) continue
    const ground = groundOf(element)
    const [dark, light] = [luminance(ground), luminance(over(numbers(getComputedStyle(element).color), ground))].sort((a, b) => a - b)
    const ratio = (light + 0.05) / (dark + 0.05)
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${element.className}: ${node.textContent.trim()}`)
  }
  return faint
})

t.test('every text can be read', needsBrowser, async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const [browser, { url }] = await Promise.all([startBrowser(t), startGateway(t, { redisUrl: primary.url, keyPrefix })])
  const grounds = new Set()
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const { page, faults, origins } = await openPage(t, browser, { colorScheme })
    await page.goto(`${url}/docs`)
    for (const method of ['post', 'delete', 'put', 'get']) {
      await page.locator(`.opblock-${method} .opblock-summary-control`).first().click()
      await page.locator(`.opblock-${method} .responses-wrapper`).first().waitFor()
    }
    t.same(await faintTexts(page), [], colorScheme)
    grounds.add(await page.evaluate(() => window.getComputedStyle(document.documentElement).backgroundColor))
    t.same([faults, origins], [[], [url]])
  }
  t.equal(grounds.size, 2)
})
