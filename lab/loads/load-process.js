/** A load of the lab, as a process that its parent controls (protocol.js). */
import { LOADS } from './index.js'
import { serveLoad } from './protocol.js'

serveLoad(LOADS, import.meta.url)
