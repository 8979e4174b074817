/** Names of the people and products of the demos. The same index has the same name. */

const FIRST = ('Anna Ben Chiara David Emma Farid Greta Hugo Ines Jonas Kofi Lena Mateo Nadia Oskar Priya Quentin Rosa Samir Tess ' +
  'Umar Vera Wei Ximena Yusuf Zoe Aino Bram Carla Dmitri Elif Finn Gwen Hana Igor Julia Kenji Lars Maya Nils').split(' ')
const LAST = ('Adler Bakker Costa Dubois Eriksen Fischer Garcia Haddad Ivanova Jensen Kowalski Larsen Moreau Nowak Okafor Petrov Quinn ' +
  'Rossi Sato Tanaka Ueda Virtanen Weber Xu Yilmaz Zimmer Almeida Berg Chen Dahl Evans Fontaine Gruber Horvat Ito Jovanovic Khan ' +
  'Lindqvist Mendes Novak Olsen Park Ramos Silva Thomas Urban Vogel Walsh Young Zhang').split(' ')
const KINDS = 'ash-wood copper linen enamel leather bamboo wool ceramic walnut steel'.split(' ')
const GOODS = 'tea-pot desk-lamp wall-clock bread-box key-ring serving-tray flower-pot pencil-case coat-hook picture-frame'.split(' ')

/** @param {number} i below 2,000 for different names @returns {string} */
export const personOf = (i) => `${FIRST[i % FIRST.length]} ${LAST[(i + Math.floor(i / FIRST.length)) % LAST.length]}`

/** The name of a person as an id. @param {number} i @returns {string} */
export const userOf = (i) => personOf(i).toLowerCase().replace(' ', '.')

/** @param {number} i below 100 for different products @returns {{ sku: string, name: string }} */
export function productOf (i) {
  const sku = `${KINDS[i % KINDS.length]}-${GOODS[(i + Math.floor(i / KINDS.length)) % GOODS.length]}`
  return { sku, name: sku.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase()) }
}
