/**
 * Commands that a rule must allow: what other folders use of src/admission.
 *
 *     admission.js   command -> batcher.js -> admit (one script call) -> decision, once it is durable (durability.js)
 *     system.js      what is stored of a system: partitions, versions of rules (rules.js), secret
 *     rules.js       lua/rules, and what JavaScript knows of them; own-rules.js, rule-text.js, stop-script.js: rules of users
 *     outbox.js      events of all keys -> key-view.js, keys in memory -> rejections.js, certain rejections
 *
 * @typedef {import('./batcher.js').Command} Command
 * @typedef {import('./batcher.js').Decision} Decision
 * @typedef {import('./admission.js').Admitted} Admitted
 * @typedef {import('./admission.js').Admission} Admission
 * @typedef {import('./batcher.js').Answer} Answer
 * @typedef {import('./key-view.js').KeyView} KeyView
 * @typedef {import('./key-view.js').KeyState} KeyState
 * @typedef {import('./system.js').Mask} Mask
 * @typedef {import('./outbox.js').Entry} Entry
 * @typedef {import('./own-rules.js').OwnRule} OwnRule
 * @typedef {import('./own-rules.js').OwnRules} OwnRules
 * @typedef {import('./partition-clock.js').PartitionClock} PartitionClock
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {import('./rules.js').RuleFolds} RuleFolds
 * @typedef {import('./system.js').Agreement} Agreement
 * @typedef {import('./system.js').KeepSecret} KeepSecret
 * @typedef {import('./system.js').System} System
 */
export { admit, createAdmission } from './admission.js'
export { createBatcher, decisionOf, decisionOfRequest, prepare } from './batcher.js'
export { createConfirm, expectDurability, openConfirms } from './durability.js'
export { admissionKey, createAgreement, expectPartitions, idWith, maskWith, partitionKeys, readSystem, systemKey } from './system.js'
export { createKeyView } from './key-view.js'
export { createOwnRules, deleteLibraries, eventOf, memoryOf, OWN_NAMES, ownerOf, readState, storedOf } from './own-rules.js'
export { patternsIn } from './rule-text.js'
export { KEPT_PARTS, NAMED_RULES, oursIn, ownFormOf } from './rules.js'
export { entryOf, eventsOf, fieldsOf, followNews, followOutboxes, generationOf } from './outbox.js'
export { createPartitionClock, MAX_BACK_MS } from './partition-clock.js'
export { createRejections } from './rejections.js'
export { createStopper, REPLY_MS } from './stop-script.js'
