/**
 * Loaded before a program with --import: at the n-th SIGUSR2 it prints `live memory n: BYTES`, what is in use after garbage
 * collection. The size of a process includes what the collector keeps, up to 64 MiB of freed buffers before it looks.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let times = 0
process.on('SIGUSR2', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  // the second run frees buffers
  for (let i = 0; i < 2; i++) collect()
  const { heapUsed, external } = process.memoryUsage()
  process.stderr.write(`live memory ${++times}: ${heapUsed + external}\n`)
})
