/**
 * A peer: an order is a job of BullMQ, whose data has its step, so that another replica goes on when one was killed. Any replica takes the
 * next job, and answers for any order. Stock is not given back, or sold, exactly once when a replica is killed between two steps.
 *
 * Source: https://docs.bullmq.io/patterns/process-step-jobs
 */
import { loadPeers } from '../../peers/index.js'

/** orders at once */
const CONCURRENCY = 256

/** @param {import('./local-process.js').Parts} parts @returns {Promise<import('./local-process.js').Ways>} */
export async function openBullmq ({ redisUrl, key, ended, reserve, giveBack, pay }) {
  const load = await loadPeers()
  const [{ Job, Queue, Worker }, { Redis }] = await Promise.all([load('bullmq'), load('ioredis')])
  const options = () => ({ connection: new Redis(redisUrl, { maxRetriesPerRequest: null }), prefix: key('bull') })
  const queue = new Queue('orders', options())

  /** @param {any} job */
  async function run (job) {
    const { lines, total, step } = job.data
    if (step === 'placed') {
      if (!await reserve(lines)) return { status: 'cancelled', reason: 'insufficient' }
      await job.updateData({ ...job.data, step: 'held' })
    }
    if (await pay(job.id, total)) return { status: 'confirmed', reason: null }
    await giveBack(lines)
    return { status: 'cancelled', reason: 'declined' }
  }
  new Worker('orders', run, { ...options(), concurrency: CONCURRENCY }).on('completed', (/** @type {any} */ job) => {
    const { lines, total } = job.data
    ended.set(job.id, { lines, total, ...job.returnvalue, ms: job.finishedOn - job.timestamp })
  })

  return {
    place: (id, order) => queue.add('order', { ...order, step: 'placed' }, { jobId: id }),
    async statusOf (id) {
      const job = await Job.fromId(queue, id)
      return job ? job.returnvalue?.status ?? 'pending' : null
    }
  }
}
