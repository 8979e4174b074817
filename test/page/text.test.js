/** Figures of pages as text. */
import t from 'tap'
import { changeText } from '../../readers/page/text.js'

t.test('a change has a sign, unless it is shown as zero', async (t) => {
  t.same([1.5, -0.25, 0.006, -0.006, 0.004, -0.004, 0, -0].map(changeText),
    ['▲ +1.50 %', '▼ −0.25 %', '▲ +0.01 %', '▼ −0.01 %', '0.00 %', '0.00 %', '0.00 %', '0.00 %'])
})
