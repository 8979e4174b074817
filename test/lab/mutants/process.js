/** A load process whose loads are broken on purpose; beside that it is the lab's own. */
import { serveLoad } from '../../../lab/loads/protocol.js'
import { MUTANTS } from './loads.js'

serveLoad(MUTANTS, import.meta.url)
