/** To find a document by its id costs as much as to pass over so many. */
export const LOOKUP_COST = 8
/** Documents that are looked into where it stalls nobody else. */
export const FEW_DOCUMENTS = 100
/** How many bytes they may have together, divided by what is asked of each. */
export const FEW_BYTES = 131_072
