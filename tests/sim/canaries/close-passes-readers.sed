# core/scope.c: who closes passes by a hold that a report just looks at.
s/^static bool hold_claim_to_close/__attribute__((unused)) &/
s/if (hold_claim_to_close(hold)) {/if (hold_claim(hold, HOLD_TAKEN)) {/
