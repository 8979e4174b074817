/** Settings of sales. `--help` of every process shows them, so they import nothing. */

/** @type {import('freshet-feed/systems').System['settings']} */
export const SETTINGS = {
  saleTokenKey: {
    description: 'File of the private key of sale tokens, a JSON Web Key; without it, one is generated and stored on the server',
    uses: ['gateway'],
    type: 'file'
  },
  mode: {
    description: 'How the demo sales sells: direct = claims are decided at once, queue = people are admitted in order, token = a unit is ' +
      'held for the holder of a token',
    uses: ['demo'],
    type: 'string',
    enum: ['direct', 'queue', 'token'],
    default: 'queue'
  }
}
