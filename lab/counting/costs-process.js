/** `npm run costs`: a process file. */
import { runCosts } from './guard.js'
import { answerQuestions } from './questions.js'

const QUESTIONS = '--questions'
try {
  const { argv: [,, ...words], env, stdout } = process
  if (words[0] === QUESTIONS) {
    await answerQuestions({ env, names: words.slice(1), stdout })
    process.exit(0)
  }
  process.exit(await runCosts({ argv: words, env, stdout }))
} catch (error) {
  if (error.code === undefined) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exit(error.exitStatus ?? 1)
}
