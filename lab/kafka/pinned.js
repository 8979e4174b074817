/**
 * The pinned Kafka: its jars from Maven, fetched when something first needs a broker. mvn downloads them, because it already knows
 * the repository, proxy and certificates of the machine; one hash over all jars is checked here.
 *
 * The jars are fetched into a temporary folder, which is then renamed, so concurrent downloads are safe.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { FreshetError } from '../errors.js'

const run = promisify(execFile)

export const VERSION = '4.4.0'
/** SHA-512 over a line `name sha512` for each jar, in order of names; all machines get the same jars */
const HASH = 'jx0b8pMRR+mnDEd0bSdiFESk0R0lrl/7iZ5QIrHX2hgxp9NW3BUCm7RriSgFCHZBjNKF+C07LWSziZ4dKx6KmA=='
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
const FETCH_DEADLINE_MS = 180_000
/** kafka-tools-api is named by the broker but not published */
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>freshet</groupId><artifactId>broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version>
    <exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion></exclusions>
  </dependency></dependencies>
</project>
`

/** @param {string} cacheDir @returns {string} the folder of the jars, whether they are there or not */
const folderIn = (cacheDir) => join(cacheDir, 'engines', `kafka-${VERSION}`)

/** @param {string} cacheDir @returns {Promise<boolean>} */
export const isFetched = (cacheDir) => access(folderIn(cacheDir)).then(() => true, () => false)

/**
 * @param {{ cacheDir: string, report?: (line: string) => void }} options
 * @returns {Promise<string>} the folder with the jars
 * @throws {FreshetError} BROKER_FAILED
 */
export async function pinnedKafka ({ cacheDir, report = () => {} }) {
  const folder = folderIn(cacheDir)
  if (await isFetched(cacheDir)) return folder
  report(`fetching Kafka ${VERSION} (43 MB), once`)
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(join(dirname(folder), 'fetching-'))
  const jars = join(workshop, 'jars')
  try {
    await writeFile(join(workshop, 'pom.xml'), POM)
    const words = ['-q', '-B', COPY, '-DincludeScope=runtime', `-DoutputDirectory=${jars}`]
    await run('mvn', words, { cwd: workshop, timeout: FETCH_DEADLINE_MS })
    if (await hashOf(jars) !== HASH) throw new Error('the jars have another hash')
    await rename(jars, folder)
    return folder
  } catch (error) {
    if (await isFetched(cacheDir)) return folder
    const [reason] = String(error.stdout || error.stderr || error.message).trim().split('\n')
    throw new FreshetError('BROKER_FAILED', `Kafka ${VERSION} could not be fetched (${reason})`, { cause: error })
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
}

/** @param {string} jars folder @returns {Promise<string>} */
export async function hashOf (jars) {
  const all = createHash('sha512')
  for (const name of (await readdir(jars)).sort()) {
    all.update(`${name} ${createHash('sha512').update(await readFile(join(jars, name))).digest('hex')}\n`)
  }
  return all.digest('base64')
}
