/** Plain HTTP/1.1 connections that cost less than the server that they ask: for `freshet bench` and the lab. */
export { openClient } from './connection.js'
export { createHeadReader, openSocket } from './http-socket.js'
