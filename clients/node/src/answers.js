/** What a handler answers: an outcome, and with Done the effects that are committed with it. */

/** A name that is not known is more often a slip than a wish to have it ignored. */
export function refuseOthers(of, others) {
  for (const name of Object.keys(others)) throw new TypeError(`${of} has no "${name}"`);
}

class Statement {
  constructor(statement, parameters, rows) {
    Object.assign(this, { statement, parameters, rows });
  }
}

export function sql(statement, parameters = {}, rows = null) {
  return new Statement(statement, parameters, rows);
}

export function isStatement(value) {
  return value instanceof Statement;
}

export class Done {
  constructor({ sql = [], send = [], cancel = [], reschedule = [], put = {}, erase = [], ...others } = {}) {
    refuseOthers("Done", others);
    for (const [name, list] of Object.entries({ sql, send, cancel, reschedule, erase }))
      if (!Array.isArray(list)) throw new TypeError(`${name} of Done is no array`);
    Object.assign(this, { sql, send, cancel, reschedule, put, erase });
  }
}

export class Retry {
  constructor({ after = 0, why = "", ...others } = {}) {
    refuseOthers("Retry", others);
    Object.assign(this, { after, why });
  }
}

export class Reject {
  constructor(why = "") {
    this.why = why;
  }
}

export class Skip {
  constructor(why = "") {
    this.why = why;
  }
}

/** A failed attempt: what an exception of the handler becomes. */
export class Failed {
  constructor(why) {
    this.why = why;
  }
}
