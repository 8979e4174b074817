/** A load of the lab. A process file: its parent orders one of the loads (protocol.js). */
import { LOADS } from './index.js'
import { serveLoad } from './protocol.js'

serveLoad(LOADS, import.meta.url)
