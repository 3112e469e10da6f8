import { defineErrors } from 'sixwire'

export const errors = defineErrors({
  already_booked: [409, 'This booking exists already.'],
  not_enough_points: [409, 'There are not enough points for this.'],
})
