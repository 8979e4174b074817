import { supervise } from './supervisor.js'

process.exit(await supervise(JSON.parse(process.argv[2])))
