import fc from 'fast-check'
import t from 'tap'
import { accountSince, addAccounts, countRefused, newAccount, refusedOf } from '../../src/pipeline/delivery.js'

/** What can become of items, one after the other; what cannot happen now does not. */
const EVENTS = {
  offer: (account) => { account.offered++ },
  refuse (account) {
    account.offered++
    countRefused(account, 'ITEM_TOO_OLD')
  },
  drop (account) {
    account.offered++
    account.dropped++
  },
  acknowledge (account) {
    if (underWay(account) === 0) return
    account.items++
    account.batches++
    account.bytes += 128
  },
  late: (account) => { if (underWay(account) > 0) countRefused(account, 'late') }
}

const underWay = (account) => account.offered - account.items - account.dropped - refusedOf(account) - account.failed
const events = fc.array(fc.constantFrom(...Object.keys(EVENTS)), { maxLength: 60 })
const happen = (account, names) => names.forEach((name) => EVENTS[name](account))

t.test('from any moment on each item offered or in flight ends in exactly one of items, refused, dropped or failed', async (t) => {
  fc.assert(fc.property(events, events, (first, then) => {
    const account = newAccount()
    happen(account, first)
    const before = addAccounts([account])
    happen(account, then)
    account.failed = underWay(account)
    const since = accountSince(account, before)
    const made = then.filter((name) => !['acknowledge', 'late'].includes(name)).length
    return since.offered === since.items + refusedOf(since) + since.dropped + since.failed &&
      since.offered === made + underWay(before) &&
      since.items === account.items - before.items && since.bytes === 128 * since.items &&
      since.failed === account.failed
  }))
})

t.test('accountSince the beginning is everything, and since the end only failed items', async (t) => {
  const account = { ...newAccount(), offered: 9, items: 4, batches: 2, dropped: 1, failed: 1, refused: { too_old: 2, late: 1 } }
  t.same(accountSince(account, newAccount()), account)
  t.same(accountSince(account, account), { ...newAccount(), offered: 1, failed: 1 })
})
