import { defineErrors } from 'sixwire'

export const errors = defineErrors({
  already_granted: [409, 'These points were granted already.'],
  not_enough_points: [409, 'There are not enough points for this.'],
})
