/** A string is sent as UTF-8. */
export type Body = string | Uint8Array;

/** Text where it is UTF-8, else bytes. */
export type Text = string | Buffer;

/**
 * The value of a parameter. A Date is sent as text, an array or a plain object as text of JSON. A number that is whole
 * is an integer; beyond 2^53 it has to be a BigInt.
 */
export type Value = null | boolean | number | bigint | string | Uint8Array | Date | unknown[] | object;

/** One statement. `rows`: how many it has to touch; another number is a failed attempt. */
export interface Statement {
  readonly statement: string;
  readonly parameters: Readonly<Record<string, Value>>;
  readonly rows: number | bigint | null;
}

/** `sql("insert into ledger values(:id, :body)", { id: message.id, body: message.text })` */
export function sql(statement: string, parameters?: Record<string, Value>, rows?: number | bigint): Statement;

/** A message to a queue of the same store. Without an id it gets one of the message that is handled. */
export interface Send {
  queue: string;
  body?: Body;
  group?: string;
  id?: string;
  headers?: Record<string, string>;
  deliverAt?: Date;
  /** In seconds. */
  delay?: number;
}

/** Takes back a message that waits for its time. */
export interface Cancel {
  id: string;
  queue?: string;
}

/** Gives a message that waits another time. */
export interface Reschedule {
  id: string;
  at: Date;
  queue?: string;
}

export interface Effects {
  sql?: readonly Statement[];
  send?: readonly Send[];
  cancel?: readonly Cancel[];
  reschedule?: readonly Reschedule[];
  /** Values to keep under keys of the handlers' state. */
  put?: Readonly<Record<string, Body>> | ReadonlyMap<string, Body>;
  /** Keys of the handlers' state. */
  erase?: readonly string[];
}

/** The message is done, and all of this is committed with it, or none. */
export class Done {
  constructor(effects?: Effects);
  readonly sql: readonly Statement[];
  readonly send: readonly Send[];
  readonly cancel: readonly Cancel[];
  readonly reschedule: readonly Reschedule[];
  readonly put: Readonly<Record<string, Body>> | ReadonlyMap<string, Body>;
  readonly erase: readonly string[];
}

/** Again later, in its place; no failed attempt. `after` in seconds; 0: as Tenure chooses. */
export class Retry {
  constructor(options?: { after?: number; why?: string });
  readonly after: number;
  readonly why: string;
}

/** A dead letter at once: no attempt could help. */
export class Reject {
  constructor(why?: string);
  readonly why: string;
}

/** There is nothing to do for it. */
export class Skip {
  constructor(why?: string);
  readonly why: string;
}

export type Answer = Done | Retry | Reject | Skip | null | undefined | void;

export interface MessageFields {
  id: Text;
  body?: Body;
  group?: Text;
  headers?: Record<string, Text>;
  attempt?: number;
  number?: bigint | null;
  time?: Date | null;
  token?: bigint;
  deadline?: Date | null;
  state?: Record<string, Body | null>;
}

/** One attempt at one message. */
export class Message {
  constructor(fields: MessageFields);
  readonly id: Text;
  readonly group: Text;
  readonly body: Buffer;
  /** The body as text. Throws where it is no UTF-8. */
  readonly text: string;
  /** By name; of two with one name the first. */
  readonly headers: Readonly<Record<string, Text>>;
  /** 1 at the first. */
  readonly attempt: number;
  /** Within its group, where it has one. */
  readonly number: bigint | null;
  /** When it was sent. */
  readonly time: Date | null;
  /** The term's fencing token. */
  readonly token: bigint;
  /** Until when it has to be answered, where there is a limit. */
  readonly deadline: Date | null;
  /** The values of the keys that `state` of the worker has named; null: no such key. */
  readonly state: Readonly<Record<string, Buffer | null>>;
  /** Says that the handler comes further: its deadline counts from here. After the answer it does nothing. */
  progress(): void;
}

export type Handler = (message: Message) => Answer | Promise<Answer>;
export type StateKeys = (message: Message) => readonly string[] | Promise<readonly string[]>;
export type Effect = "sql" | "send" | "cancel" | "reschedule" | "put" | "erase";

export interface WorkerOptions {
  /** Which keys of the handlers' state the handler wants to know. */
  state?: StateKeys;
  /**
   * How many messages may be in hand at a time, 1 when missing. The handler is called for one at a time all the same.
   * More than one is for handlers whose effects are all in their answers: what was answered behind a message that is
   * not done is thrown away, and given again later.
   */
  ahead?: number;
  /** The effects that its answers will have. */
  uses?: readonly Effect[];
  /** Called before the first message: connections, models. */
  onStart?: () => unknown;
  /** Called after the last one. */
  onStop?: () => unknown;
}

/** Answers messages of Tenure with a handler. An exception of the handler is a failed attempt. */
export class Worker {
  constructor(handler: Handler, options?: WorkerOptions);
  readonly handler: Handler;
  readonly state: StateKeys;
  /**
   * Works until Tenure says that it is over, or until SIGTERM or SIGINT. The process ends then; what is still open a
   * second later is not waited for.
   */
  run(): Promise<void>;
}

/** Hands a handler a message and returns its answer, without a server. */
export namespace testing {
  /**
   * The handler's answer. Of `state`, the message has the keys that the worker names. An exception of the handler is
   * thrown.
   *
   *     const answer = await testing.handle(worker, "17 EUR", { id: "o-1", state: { total: "3" } });
   */
  function handle(worker: Worker, body?: Body, fields?: Partial<MessageFields>): Promise<Answer>;
}
