/**
 * @param {import('node:http').ServerResponse} response @param {number} status @param {object} body
 * @param {import('node:http').OutgoingHttpHeaders} [headers]
 */
export const reply = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
