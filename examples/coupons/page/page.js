const at = (id) => document.getElementById(id)
const campaign = location.hash.slice(1) || 'spring'
const gateway = document.querySelector('meta[name=gateway]').content
at('campaign').textContent = campaign
at('claim').hidden = gateway === ''

function listed ({ number, person }) {
  const line = Object.assign(document.createElement('li'), { value: number, textContent: person })
  at('claims').prepend(line)
}

const stream = new EventSource(`/v1/campaigns/${campaign}/live`)
stream.addEventListener('snapshot', async ({ data }) => {
  const { total, left, most, endsAt } = JSON.parse(data)
  Object.entries({ total, left, most, ends: new Date(endsAt).toLocaleString() }).forEach(([id, text]) => { at(id).textContent = text })
  const { items } = await (await fetch(`/v1/campaigns/${campaign}/coupons`)).json()
  at('claims').replaceChildren()
  items.filter(({ type }) => type === 'claimed').reverse().forEach(listed)
})
stream.addEventListener('claimed', ({ data }) => {
  const claim = JSON.parse(data)
  at('left').textContent = claim.left
  listed(claim)
})
stream.addEventListener('ended', () => { at('outcome').textContent = 'The campaign has ended' })

at('claim').addEventListener('submit', async (event) => {
  event.preventDefault()
  const body = JSON.stringify({ person: at('person').value })
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': crypto.randomUUID() }
  const reply = await (await fetch(`${gateway}/v1/campaigns/${campaign}/coupons`, { method: 'POST', body, headers })).json()
  at('outcome').textContent = reply.number ? `Coupon number ${reply.number} is yours` : reply.title
})
