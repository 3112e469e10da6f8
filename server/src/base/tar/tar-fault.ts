/** A tar is damaged, or has what its writer never writes. */
export class TarFault extends Error {
  override name = 'TarFault'
  /** Such as the name of an entry. */
  readonly place: string
  readonly fault: string
  constructor(place: string, fault: string) {
    super(`${place}: ${fault}`)
    this.place = place
    this.fault = fault
  }
}
