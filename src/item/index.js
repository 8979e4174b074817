/**
 * What other folders use of src/item.
 *
 * @typedef {import('./cursor.js').Cursors} Cursors
 * @typedef {import('./id-filter.js').IdFilter} IdFilter
 * @typedef {import('./member.js').Member} Member
 * @typedef {import('./member.js').VersionPlace} VersionPlace
 * @typedef {import('./order.js').Place} Place
 * @typedef {import('./position.js').LogOffset} LogOffset
 * @typedef {import('./position.js').LogPosition} LogPosition
 * @typedef {import('./seal.js').Seal} Seal
 * @typedef {import('./segment.js').EntryHead} EntryHead
 * @typedef {import('./segment.js').Visit} Visit
 * @typedef {import('./value.js').Value} Value
 */
export { CURSOR_FIELD, CURSOR_SCHEMA, decodeCursor, encodeCursor, plainCursors, sealedCursors } from './cursor.js'
export { ENTRY_HEAD_BYTES, entryHead, visitEntry, writeEntry } from './entry.js'
export { EXPECTED_TS, faultOfInteger, isTs, readTs, TS_SCHEMA } from './event-time.js'
export { bucketOf, checkedId, EXPECTED_ID, ID_FIELD, ID_SCHEMA, MAX_ID_BYTES, partitionOf, readId } from './id.js'
export { EXPECTED_IDS, MAX_FILTER_IDS, readIdFilter } from './id-filter.js'
export { MEMBER_HEAD_BYTES, memberBound, memberEnd, placeText, readMember, writeMemberHead } from './member.js'
export { compareOrder, createSequence, MAX_SEQ, MAX_TS, newestFirst, scoreOf, unscore } from './order.js'
export { sequenceOf, WRITER_BYTES, WRITER_TEXT_LENGTH } from './origin.js'
export { checkCreation, createdMsOf, decodeOffsets, encodeOffsets, isPositionOf, partitionsIn } from './position.js'
export { decodeSeveral, encodeSeveral, MAX_POSITION } from './several-positions.js'
export { MAX_VALUE_BYTES, readRecord, RECORD_HEAD_BYTES, writeRecordHead } from './record.js'
export { createSeal, newSecret } from './seal.js'
export {
  ARRIVAL_HEAD_BYTES, eachVersion, ITEM_HEAD_BYTES, itemBytes, METHODS, packItems, SEGMENT_HEAD_BYTES, segmentHead, writeArrival, writeItem,
  writeSegmentHead
} from './segment.js'
export { jsonBytes, parsedJson, valueBytes } from './value.js'
