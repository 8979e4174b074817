/**
 * What other folders use of src/item.
 *
 * @typedef {import('./cursor.js').Cursors} Cursors
 * @typedef {import('./id-filter.js').IdFilter} IdFilter
 * @typedef {import('./record.js').Member} Member
 * @typedef {import('./record.js').VersionPlace} VersionPlace
 * @typedef {import('./order.js').Place} Place
 * @typedef {import('./position.js').LogOffset} LogOffset
 * @typedef {import('./position.js').LogPosition} LogPosition
 * @typedef {import('./cursor.js').Seal} Seal
 * @typedef {import('./segment.js').EntryHead} EntryHead
 * @typedef {import('./segment.js').Visit} Visit
 * @typedef {import('./value.js').Value} Value
 */
export {
  createSeal, CURSOR_FIELD, CURSOR_SCHEMA, decodeCursor, encodeCursor, newSecret, plainCursors, SECRET_BYTES, sealedCursors, sealedLength
} from './cursor.js'
export {
  ARRIVAL_HEAD_BYTES, eachVersion, ENTRY_HEAD_BYTES, entryHead, ITEM_HEAD_BYTES, itemBytes, METHODS, packItems, SEGMENT_HEAD_BYTES,
  segmentHead, visitEntry, writeArrival, writeEntry, writeItem, writeSegmentHead
} from './segment.js'
export { EXPECTED_TS, faultOfInteger, isTs, readTs, TS_SCHEMA } from './event-time.js'
export { bucketOf, checkedId, EXPECTED_ID, ID_FIELD, ID_SCHEMA, MAX_ID_BYTES, partitionOf, readId } from './id.js'
export { EXPECTED_IDS, readIdFilter } from './id-filter.js'
export {
  MAX_VALUE_BYTES, MEMBER_HEAD_BYTES, memberBound, memberEnd, placeText, readMember, readRecord, RECORD_HEAD_BYTES, writeMemberHead,
  writeRecordHead
} from './record.js'
export { compareOrder, createSequence, MAX_SEQ, MAX_TS, newestFirst, scoreOf, unscore } from './order.js'
export { sequenceOf, WRITER_BYTES, WRITER_TEXT_LENGTH } from './origin.js'
export {
  checkCreation, createdMsOf, decodeOffsets, decodeSeveral, encodeOffsets, encodeSeveral, isPositionOf, longestSeveral, MAX_POSITION,
  partitionsIn
} from './position.js'
export { jsonBytes, parsedJson, valueBytes } from './value.js'
