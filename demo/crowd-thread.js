/**
 * The crowd of a demo, in a thread of its own: replies to thousands of people must not delay a Ctrl-C. A thread file; it ends with the
 * process, or when it is terminated.
 *
 * `workerData`: `system`, and the options of its `runCrowd` that can be copied. Messages: lines to print.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { loadSystems } from '../src/systems/list.js'

const { system, ...options } = workerData
const [{ demo }] = await loadSystems([system])
const crowd = await demo.crowd?.()
const print = (/** @type {string} */ line) => parentPort?.postMessage(line)
await crowd?.runCrowd({ ...options, signal: new AbortController().signal, print })
