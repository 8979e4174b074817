/**
 * Commands that a rule must allow: what other folders use of src/admission.
 *
 *     admission.js   command -> batcher.js -> admit.js (one script call) -> decision, once it is durable (durability.js)
 *     system.js      what is stored of a system: partitions, versions of rules (our-rules.js), secret (keys.js)
 *     our-rules.js   lua/rules, and rules.js, what JavaScript knows of them; own-rules.js, rule-text.js, stop-script.js: rules of users
 *     outbox.js      events of all keys -> key-view.js, keys in memory -> rejections.js, certain rejections
 *
 * @typedef {import('./commands.js').Command} Command
 * @typedef {import('./commands.js').Decision} Decision
 * @typedef {import('./admit.js').Admitted} Admitted
 * @typedef {import('./admission.js').Admission} Admission
 * @typedef {import('./batcher.js').Answer} Answer
 * @typedef {import('./key-view.js').KeyView} KeyView
 * @typedef {import('./key-view.js').KeyState} KeyState
 * @typedef {import('./keys.js').Mask} Mask
 * @typedef {import('./outbox.js').Entry} Entry
 * @typedef {import('./own-rules.js').OwnRule} OwnRule
 * @typedef {import('./own-rules.js').OwnRules} OwnRules
 * @typedef {import('./partition-clock.js').PartitionClock} PartitionClock
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {import('./rules.js').Ruleset} Ruleset
 * @typedef {import('./system.js').Agreement} Agreement
 * @typedef {import('./system.js').KeepSecret} KeepSecret
 * @typedef {import('./system.js').System} System
 */
export { createAdmission } from './admission.js'
export { admit } from './admit.js'
export { createBatcher } from './batcher.js'
export { decisionOf, decisionOfRequest, prepare } from './commands.js'
export { createConfirm, expectDurability, openConfirms } from './durability.js'
export { admissionKey, idWith, maskWith, partitionKeys, systemKey } from './keys.js'
export { createKeyView } from './key-view.js'
export { createOwnRules, deleteLibraries, eventOf, memoryOf, OWN_NAMES, ownerOf, readState, storedOf } from './own-rules.js'
export { patternsIn } from './rule-text.js'
export { NAMED_RULES, oursIn, ownFormOf } from './our-rules.js'
export { entryOf, eventsOf, fieldsOf, followNews, followOutboxes, generationOf } from './outbox.js'
export { createPartitionClock, MAX_BACK_MS } from './partition-clock.js'
export { createRejections } from './rejections.js'
export { KEPT_PARTS } from './rules.js'
export { createStopper, REPLY_MS } from './stop-script.js'
export { createAgreement, expectPartitions, readSystem } from './system.js'
