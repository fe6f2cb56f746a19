{-# OPTIONS --safe #-}
-- All of the proof, in the order in which it is read. `make prove` checks it; ../proof.md says what it says.

module Everything where

open import Calculus         -- what a program is, and what a run of it does
open import Walks            -- what every run does, step by step: the lemma behind P1 and P2
open import P1               -- no wait is shorter than the one before it
open import P2               -- a program from I to O waits at most I - O times
open import P3               -- retries never multiply
open import P4               -- a run asks only commands of its row
open import P5               -- no run does more than its plan says
open import Forever          -- how a ladder without end waits
open import Rungs            -- where a run stands
open import Laws             -- which programs are the same
open import Resume           -- what is resumed asks only for the rest
open import Counterexamples  -- what goes wrong without a floor, with a reset, behind a bind
