{-# OPTIONS --safe #-}
-- P5: what a program does at most is known before it runs. The plan is that of _meaning/planning.py; no run
-- waits more often than it says, tries more often, or waits longer in all unless a service asked for time.

open import Calculus
open import Data.Nat using (ℕ; _≤_; _⊔_)
open import Relation.Binary.PropositionalEquality using (_≡_)

-- `promised` is Schedule.longest: the k-th wait is no longer. The floor is max, as it is in Python.
module P5 (signature : Signature) (setting : Language.Setting signature)
          (promised : ℕ → ℕ) (no-longer : ∀ k → Language.Setting.schedule setting k ≤ promised k)
          (is-max : ∀ floor seconds → Language.Setting.lengthen setting floor seconds ≡ floor ⊔ seconds) where

open import Data.Bool using (true; false)
open import Data.Empty using (⊥; ⊥-elim)
open import Data.List using (List; []; _∷_; _++_; foldr; length; sum; upTo; concatMap) renaming (map to each)
open import Data.List.Relation.Unary.Any using (Any; here; there)
import Data.List.Relation.Unary.Any as Any
open import Data.List.Relation.Unary.Any.Properties using (map⁺; concat⁺; ++⁺ˡ; ++⁺ʳ; applyUpTo⁺)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Nat.Properties
open import Data.Product using (Σ; _×_; _,_; proj₁; proj₂)
open import Data.Sum using (inj₁; inj₂)
open import Data.Unit using (⊤; tt)
open import Function using (id; _∘_; const)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting ends
open import Walks signature setting ends
open import P2 signature setting using (each-wait-takes-a-rung)
open import Rungs signature setting using (it-starts-at-its-index)
open import P3 signature setting using (an-attempt-neither-waits-nor-tries; tried-on-tries)

private variable
  A B : Set
  I O J : ℕ

-- The plan ------------------------------------------------------------------------------------------------

-- _Planner.wait: the k-th wait is no longer than this, since the waits before it may have been longer.
longest : ℕ → ℕ
longest zero    = promised 0
longest (suc k) = longest k ⊔ promised (suc k)

-- The seconds of the waits on all rungs from r down.
cost : ℕ → ℕ
cost zero    = 0
cost (suc r) = longest (top ∸ suc r) + cost r

-- A way of a run to a rung, and the most that it has done on it (planning.Worst, by its place). Python has
-- one for each rung, with the most of all ways to it; here they are all in a list.
record Way : Set where
  constructor way
  field
    place most-tries most-waits most-seconds : ℕ
open Way

-- One try more; at a rung without a wait; at a rung, with a wait on each rung on the way (_Planner.all_waits).
one-more-try : Way → Way
one-more-try (way r t n s) = way r (suc t) n s

gone-to : (ℕ → ℕ) → Way → Way
gone-to f (way r t n s) = way (f r) t n s

waited-down-to : ℕ → Way → Way
waited-down-to e (way r t n s) = way e t ((r ∸ e) + n) ((cost r ∸ cost e) + s)

waited-once : Way → Way
waited-once w = waited-down-to (pred (place w)) w

retried : Way → Way
retried w = record (waited-down-to 0 w) { most-tries = suc (place w) + most-tries w }

-- What a function of a bind leads to: if it says on which rungs its program starts and ends, from the one to the
-- other; else from where the run stands to any rung down to the end. (Python does not know that end, so its plan
-- goes down to 0.)
led : Ending → (start exit : ℕ) → Way → List Way
led said   O J w = waited-down-to J (gone-to (const O) w) ∷ []
led unsaid O J w = each (λ i → waited-down-to (J + i) w) (upTo (suc (place w ∸ J)))

gone-left : Ending → ℕ → Way → Way
gone-left said   J = gone-to (const J)
gone-left unsaid J = id

-- The ways on which a run can be well, failed, or over.
record Ways : Set where
  constructor ways
  field
    wells faileds overs : List Way
open Ways

-- _Planner.take, step by step: from the ways on which a program begins.
plan : Program I O A → List Way → Ways
plan (at I) w = ways (each (gone-to (const I)) w) [] []
plan (then p f) w = let ways y n o = plan p w ; t = each one-more-try y in ways t (n ++ t) (o ++ t)
plan (map p f) w = let ways y n o = plan p w in ways y (n ++ y) (o ++ y)
plan (or-else p on x) w = let ways y n o = plan p w ; t = each one-more-try n in ways (y ++ t) (n ++ t) (o ++ t)
plan (bind {J = J} {O = O} exit _ p f) w =
  let ways y n o = plan p w ; t = concatMap (led exit O J) y in ways t (each (gone-left exit J) n ++ t) (o ++ t)
plan (or-bind {J = J} {O = O} exit _ p on f) w =
  let ways y n o = plan p w ; t = concatMap (led exit O J) n
  in ways (each (gone-left exit J) y ++ t) (each (gone-left exit J) n ++ t) (o ++ t)
plan (p >> q) w =
  let ways y n o = plan p w ; ways y′ n′ o′ = plan q y
  in ways y′ (each (gone-to (const (bound q))) n ++ n′) (o ++ o′)
plan (or-join p on q) w =
  let ways y n o = plan p w ; ways y′ n′ o′ = plan q n ; over-there = each (gone-to (const (bound q)))
  in ways (over-there y ++ y′) (over-there n ++ n′) (o ++ o′)
plan (backoff p on) w =
  let ways y n o = plan p w ; t = each waited-once n
  in ways (each (gone-to pred) y) (each (gone-to pred) n ++ t) (o ++ t)
plan (wait p) w =
  let ways y n o = plan p w ; t = each waited-once y in ways t (each (gone-to pred) n) (o ++ t)
plan (skip p) w = let ways y n o = plan p w in ways (each (gone-to pred) y) (each (gone-to pred) n) o
plan (tries p on x) w =
  let ways y n o = plan p w ; t = each retried y in ways t (each (gone-to (const 0)) n ++ t) (o ++ t)
plan (end p) w =
  let ways y n o = plan p w in ways (each (gone-to (const 0)) y) (each (gone-to (const 0)) n) o
plan (stands {O = O} p) w =
  let ways y n o = plan p w in ways (each (gone-to (const O)) y) (each (gone-to (const O)) n) o

-- _Planner.planned: the most on any way.
all-ways : Program top O A → List Way
all-ways p = let ways y n o = plan p (way top 0 0 0 ∷ []) in y ++ n ++ o

the-most : (Way → ℕ) → List Way → ℕ
the-most count = foldr (λ w m → count w ⊔ m) 0

planned-tries planned-waits planned-seconds : Program top O A → ℕ
planned-tries   p = the-most most-tries (all-ways p)
planned-waits   p = the-most most-waits (all-ways p)
planned-seconds p = the-most most-seconds (all-ways p)

-- Python's plan says how many tries there are, if no function of a bind is in it.
Told : Program I O A → Set
Told (at I)              = ⊤
Told (then p f)          = Told p
Told (map p f)           = Told p
Told (or-else p on x)    = Told p
Told (bind _ _ p f)      = ⊥
Told (or-bind _ _ p on f) = ⊥
Told (p >> q)            = Told p × Told q
Told (or-join p on q)    = Told p × Told q
Told (backoff p on)      = Told p
Told (wait p)            = Told p
Told (skip p)            = Told p
Told (tries p on x)      = Told p
Told (end p)         = Told p
Told (stands p)          = Told p

NobodyAsksForTime : Set
NobodyAsksForTime = ∀ e → asked e ≡ 0

-- The proof -----------------------------------------------------------------------------------------------

-- On a walk the floor stays below what the schedule has promised until now, and each rung costs what it costs.
before : ℕ → ℕ
before zero    = 0
before (suc k) = longest k

longest-mono : ∀ {k l} → k ≤ l → longest k ≤ longest l
longest-mono {k} {zero}  z≤n = ≤-refl
longest-mono {k} {suc l} k≤ with m≤n⇒m<n∨m≡n k≤
... | inj₁ (s≤s l′) = ≤-trans (longest-mono l′) (m≤m⊔n _ _)
... | inj₂ refl     = ≤-refl

promised-≤ : ∀ k → promised k ≤ longest k
promised-≤ zero    = ≤-refl
promised-≤ (suc k) = m≤n⊔m (longest k) _

before-≤ : ∀ k → before k ≤ longest k
before-≤ zero    = z≤n
before-≤ (suc k) = m≤m⊔n _ _

before-mono : ∀ {k l} → k ≤ l → before k ≤ before l
before-mono {zero}           _        = z≤n
before-mono {suc k} {suc l} (s≤s k≤l) = longest-mono k≤l

cost-mono : ∀ {r q} → r ≤ q → cost r ≤ cost q
cost-mono z≤n                   = z≤n
cost-mono {suc r} {suc q} (s≤s r≤q) with m≤n⇒m<n∨m≡n r≤q
... | inj₂ refl = ≤-refl
... | inj₁ r<q  = ≤-trans (cost-mono r<q) (m≤n+m _ _)

Low : State → Set
Low s = rung s ≤ top × (NobodyAsksForTime → floor s ≤ before (top ∸ rung s))

nothing-asked : ∀ {a} → NobodyAsksForTime → Asks a → a ≡ 0
nothing-asked none nobody          = refl
nothing-asked none (the-service e) = none e

seconds-≤ : ∀ {f k a} → NobodyAsksForTime → Asks a → f ≤ before k → lengthen f (schedule k ⊔ a) ≤ longest k
seconds-≤ {f} {k} {a} none who l rewrite is-max f (schedule k ⊔ a) | nothing-asked none who =
  ⊔-lub (≤-trans l (before-≤ k)) (⊔-lub (≤-trans (no-longer k) (promised-≤ k)) z≤n)

low : ∀ {s s′} → s ↝ s′ → Low s → Low s′
low stay            l = l
low (issue q)       l = low q l
low (begin-a-try q) l = low q l
low (pause {f = f₀} {r = r} {a = a} q who) l with low q l
... | l′ , f = ≤-trans (n≤1+n r) l′ , λ none →
  subst (λ k → pausing f₀ (suc r) a ≤ before k) (sym (+-∸-assoc 1 l′)) (seconds-≤ none who (f none))
low (lower q d) l with low q l
... | l′ , f = ≤-trans d l′ , λ none → ≤-trans (f none) (before-mono (∸-monoʳ-≤ top d))

each-rung-has-its-cost : ∀ {s s′} → NobodyAsksForTime → s ↝ s′ → Low s →
  sum (waits (history s′)) + cost (rung s′) ≤ sum (waits (history s)) + cost (rung s)
each-rung-has-its-cost none stay            l = ≤-refl
each-rung-has-its-cost none (issue q)       l = each-rung-has-its-cost none q l
each-rung-has-its-cost none (begin-a-try q) l = each-rung-has-its-cost none q l
each-rung-has-its-cost none (pause {f = f} {r = r} {h = h} {a = a} q who) l with low q l
... | l′ , below-the-floor = ≤-trans (≤-reflexive (shuffle (pausing f (suc r) a) (sum (waits h)) (cost r)))
  (≤-trans (+-monoʳ-≤ (sum (waits h)) (+-monoˡ-≤ (cost r) (seconds-≤ none who (below-the-floor none))))
    (each-rung-has-its-cost none q l))
  where
    shuffle : ∀ a b c → (a + b) + c ≡ b + (a + c)
    shuffle a b c = trans (cong (_+ c) (+-comm a b)) (+-assoc b a c)
each-rung-has-its-cost none (lower {h = h} q d) l =
  ≤-trans (+-monoʳ-≤ (sum (waits h)) (cost-mono d)) (each-rung-has-its-cost none q l)

-- `told` is: the plan says how many tries there are.
module Fitting (told : Set) where

  -- A way on which what has happened in a run until now can have happened; and that leads to where it is.
  record Happened (s : State) (w : Way) : Set where
    constructor happened
    field
      try′    : told → tried s ≤ most-tries w
      wait′   : length (waits (history s)) ≤ most-waits w
      second′ : NobodyAsksForTime → sum (waits (history s)) ≤ most-seconds w

  Covers : State → Way → Set
  Covers s w = rung s ≡ place w × Happened s w

  Reaches : Result A → Way → Set
  Reaches (over _ , s) w = Happened s w
  Reaches (_ , s)      w = Covers s w

  reaching : (r : Result A) → ∀ {w} → Covers (proj₂ r) w → Reaches r w
  reaching (well _   , s) c       = c
  reaching (failed _ , s) c       = c
  reaching (over _   , s) (_ , h) = h

  Fits : Ways → Result A → Set
  Fits π (well _   , s) = Any (Covers s) (wells π)
  Fits π (failed _ , s) = Any (Covers s) (faileds π)
  Fits π (over _   , s) = Any (Happened s) (overs π)

  -- A step that acts adds ways to those of what passes it over.
  acted : ∀ y n o t (r : Result A) → Any (Reaches r) t → Fits (ways (y ++ t) (n ++ t) (o ++ t)) r
  acted y n o t (well _   , s) a = ++⁺ʳ y a
  acted y n o t (failed _ , s) a = ++⁺ʳ n a
  acted y n o t (over _   , s) a = ++⁺ʳ o a

  on-each : ∀ {P Q : Way → Set} (f : Way → Way) → (∀ {w} → P w → Q (f w)) → ∀ {w} → Any P w → Any Q (each f w)
  on-each f g a = map⁺ (Any.map g a)

  goes : ∀ {s} f {w} → Covers s w → Covers (to (f (rung s)) s) (gone-to f w)
  goes f (refl , h) = refl , happened (try′ h) (wait′ h) (second′ h)
    where open Happened

  goes-left : ∀ {s} exit J {w} → Covers s w → Covers (left exit J s) (gone-left exit J w)
  goes-left said   J = goes (const J)
  goes-left unsaid J = id

  tries-once : ∀ {s w} (x : Outcome (Attempt A)) → Covers s w → Reaches (try x s) (one-more-try w)
  tries-once {s = s} {w} (well x) (refl , h) with perform x (one-try s) | an-attempt-neither-waits-nor-tries x (one-try s)
  ... | r@(_ , s′) | same-waits , _ , same-rung , same-tries = reaching r {one-more-try w} (same-rung ,
    happened (λ t → ≤-trans (≤-reflexive same-tries) (s≤s (try′ t)))
      (≤-trans (≤-reflexive (cong length same-waits)) wait′)
      (λ none → ≤-trans (≤-reflexive (cong sum same-waits)) (second′ none)))
    where open Happened h
  tries-once (failed e) (here′ , h) = here′ , happened (λ t → ≤-trans (try′ t) (n≤1+n _)) wait′ second′
    where open Happened h
  tries-once (over e) (here′ , h) = happened (λ t → ≤-trans (try′ t) (n≤1+n _)) wait′ second′
    where open Happened h

  -- Whatever walks from one rung to another waits on the rungs between them, at most.
  between-rungs : ∀ {a b x e r} → e ≤ r → a + e ≤ b + r → b ≤ x → a ≤ (r ∸ e) + x
  between-rungs {a} {b} {x} {e} {r} e≤r l b≤x = +-cancelʳ-≤ a ((r ∸ e) + x) (≤-trans l (≤-trans (+-monoˡ-≤ r b≤x)
    (≤-reflexive (trans (+-comm x r) (trans (cong (_+ x) (sym (m∸n+n≡m e≤r)))
      (trans (+-assoc (r ∸ e) e x) (trans (cong ((r ∸ e) +_) (+-comm e x)) (sym (+-assoc (r ∸ e) x e)))))))))

  walked : ∀ {s s′ e w t} → s ↝ s′ → Low s → Covers s w → e ≤ rung s′ → (told → tried s′ ≤ t) →
    Happened s′ (record (waited-down-to e w) { most-tries = t })
  walked {s} {s′} {e} {w} p l (refl , h) e≤ t = happened t
    (between-rungs e≤r (≤-trans (+-monoʳ-≤ (length (waits (history s′))) e≤) (each-wait-takes-a-rung p)) wait′)
    (λ none → between-rungs (cost-mono e≤r)
      (≤-trans (+-monoʳ-≤ (sum (waits (history s′))) (cost-mono e≤)) (each-rung-has-its-cost none p l)) (second′ none))
    where
      open Happened h
      e≤r : e ≤ place w
      e≤r = ≤-trans e≤ (nothing-goes-up p)

  waits-once : ∀ {s w a} {o : Outcome A} → Asks a → Low s → 1 ≤ rung s → Covers s w →
    Covers (proj₂ (waiting a o s)) (waited-once w)
  waits-once {s = s@(state _ _ (suc r) t h)} {o = o} who l (s≤s _) c@(refl , happens) =
    refl , walked {s′ = proj₂ (waiting _ o s)} (pause stay who) l c ≤-refl (Happened.try′ happens)

  retries : ∀ {s w on} (x : Trying A) → Low s → Covers s w → Reaches (tried-on on x s) (retried w)
  retries {s = s} {w} {on} x l c@(refl , h) = reached (tried-on on x s) (path (tried-good {on = on} x s))
      (λ t → ≤-trans (tried-on-tries on x s) (s≤s (+-monoʳ-≤ (rung s) (Happened.try′ h t)))) (tried-stands x s)
    where
      open import Rungs signature setting using (StandsOn; tried-stands)
      reached : (r : Result _) → s ↝ proj₂ r → (told → tried (proj₂ r) ≤ suc (rung s) + most-tries w) →
        StandsOn 0 r → Reaches r (retried w)
      reached (well _   , s′) p t e = e , walked p l c z≤n t
      reached (failed _ , s′) p t e = e , walked p l c z≤n t
      reached (over _   , s′) p t _ = walked p l c z≤n t

  leads : ∀ {s w} exit → (told → ⊥) → J ≤ O → (o : Outcome (Program O J A)) → O ≤ rung s → Low s → Covers s w →
    Any (Reaches (in-any-case (enter o s) (left exit J))) (led exit O J w)
  leads {J = J} {O = O} {s = s} {w} said untold d o above l c = here (from-its-start o)
    where
      start : Covers (to O s) (gone-to (const O) w)
      start = goes (const O) c
      lower-yet : Low (to O s)
      lower-yet = low {s} {to O s} (lower stay above) l
      ended-well : (r : Result _) → Good J (to O s) r →
        Reaches (in-any-case r (to J)) (waited-down-to J (gone-to (const O) w))
      ended-well (well _   , s′) (p & a) = refl , walked (p then↝ lower stay a) lower-yet start ≤-refl (⊥-elim ∘ untold)
      ended-well (failed _ , s′) (p & a) = refl , walked (p then↝ lower stay a) lower-yet start ≤-refl (⊥-elim ∘ untold)
      ended-well (over _   , s′) (p & a) = walked p lower-yet start a (⊥-elim ∘ untold)
      from-its-start : ∀ o → Reaches (in-any-case (enter o s) (to J)) (waited-down-to J (gone-to (const O) w))
      from-its-start (well q)   rewrite it-starts-at-its-index q s = ended-well (eval q (to O s)) (walks q (to O s) ≤-refl)
      from-its-start (failed e) = ended-well (failed e , to O s) (stay & d)
      from-its-start (over e)   with walked {s = to O s} stay lower-yet start d (⊥-elim ∘ untold)
      ... | happened t n m = happened t n m
  leads {J = J} {O = O} {s = s} {w} unsaid untold d o above l c = map⁺ (applyUpTo⁺ id
      (subst (λ e → Reaches (in-any-case r id) (waited-down-to e w)) (sym (m+[n∸m]≡n (Good.above good))) (there′ r good))
      (s≤s (∸-monoˡ-≤ J (subst (rung (proj₂ r) ≤_) (proj₁ c) (nothing-goes-up (path good))))))
    where
      r = enter o s
      good : Good J s r
      good = entered d o s above
      there′ : ∀ r → Good J s r → Reaches (in-any-case r id) (waited-down-to (rung (proj₂ r)) w)
      there′ (well _   , s′) (p & _) = refl , walked p l c ≤-refl (⊥-elim ∘ untold)
      there′ (failed _ , s′) (p & _) = refl , walked p l c ≤-refl (⊥-elim ∘ untold)
      there′ (over _   , s′) (p & _) = walked p l c ≤-refl (⊥-elim ∘ untold)

  fits : (p : Program I O A) → (told → Told p) → ∀ w s → I ≤ rung s → Low s → Any (Covers s) w →
    Fits (plan p w) (eval p s)
  fits (at I) k w s i l c = on-each (gone-to (const I)) (goes (const I)) c
  fits (then p f) k w s i l c with eval p s | fits p k w s i l c
  ... | well a   , s′ | c′ = acted [] _ _ _ (try (f a) s′) (on-each one-more-try (tries-once (f a)) c′)
  ... | failed _ , s′ | c′ = ++⁺ˡ c′
  ... | over _   , s′ | c′ = ++⁺ˡ c′
  fits (map p f) k w s i l c with eval p s | fits p k w s i l c
  ... | failed _ , s′ | c′ = ++⁺ˡ c′
  ... | over _   , s′ | c′ = ++⁺ˡ c′
  ... | well a   , s′ | c′ = acted [] _ _ _ (f a , s′) (Any.map (reaching (f a , s′)) c′)
  fits (or-else p on x) k w s i l c with eval p s | fits p k w s i l c
  ... | well _   , s′ | c′ = ++⁺ˡ c′
  ... | over _   , s′ | c′ = ++⁺ˡ c′
  ... | failed e , s′ | c′ with on e
  ...   | false = ++⁺ˡ c′
  ...   | true  = acted _ _ _ _ (try (well x) s′) (on-each one-more-try (tries-once (well x)) c′)
  fits (bind {J = J} exit d p f) k w s i l c with eval p s | fits p (⊥-elim ∘ k) w s i l c | walks p s i
  ... | failed _ , s′ | c′ | _ = ++⁺ˡ (on-each (gone-left exit J) (goes-left exit J) c′)
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | well a   , s′ | c′ | p & above = acted [] _ _ _ (in-any-case (enter (f a) s′) (left exit J))
    (concat⁺ (map⁺ (Any.map (leads exit k d (f a) above (low p l)) c′)))
  fits (or-bind {J = J} exit d p on f) k w s i l c with eval p s | fits p (⊥-elim ∘ k) w s i l c | walks p s i
  ... | well _   , s′ | c′ | _ = ++⁺ˡ (on-each (gone-left exit J) (goes-left exit J) c′)
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | failed e , s′ | c′ | p & above with on e
  ...   | false = ++⁺ˡ (on-each (gone-left exit J) (goes-left exit J) c′)
  ...   | true  = acted _ _ _ _ (in-any-case (enter (f e) s′) (left exit J))
    (concat⁺ (map⁺ (Any.map (leads exit k d (f e) above (low p l)) c′)))
  fits (p >> q) k w s i l c with eval p s | fits p (proj₁ ∘ k) w s i l c | walks p s i
  ... | failed _ , s′ | c′ | _ = ++⁺ˡ (on-each (gone-to (const (bound q))) (goes (const (bound q))) c′)
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | well a   , s′ | c′ | path & above = joined (eval q s′) (fits q (proj₂ ∘ k) _ s′ above (low path l) c′)
    where
      joined : ∀ {π n o} (r : Result _) → Fits π r → Fits (ways (wells π) (n ++ faileds π) (o ++ overs π)) r
      joined {n = n} (well _   , s) f = f
      joined {n = n} (failed _ , s) f = ++⁺ʳ n f
      joined {o = o} (over _   , s) f = ++⁺ʳ o f
  fits (or-join p on q) k w s i l c with eval p s | fits p (proj₁ ∘ k) w s i l c | walks p s i
  ... | well _   , s′ | c′ | _ = ++⁺ˡ (on-each (gone-to (const (bound q))) (goes (const (bound q))) c′)
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | failed e , s′ | c′ | path & above with on e
  ...   | false = ++⁺ˡ (on-each (gone-to (const (bound q))) (goes (const (bound q))) c′)
  ...   | true  = joined (eval q s′) (fits q (proj₂ ∘ k) _ s′ above (low path l) c′)
    where
      joined : ∀ {π y n o} (r : Result _) → Fits π r → Fits (ways (y ++ wells π) (n ++ faileds π) (o ++ overs π)) r
      joined {y = y} (well _   , s) f = ++⁺ʳ y f
      joined {n = n} (failed _ , s) f = ++⁺ʳ n f
      joined {o = o} (over _   , s) f = ++⁺ʳ o f
  fits (backoff p on) k w s i l c with eval p s | fits p k w s i l c | walks p s i
  ... | well _   , s′ | c′ | _ = on-each (gone-to pred) (goes pred) c′
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | failed e , s′ | c′ | path & above with on e
  ...   | false = ++⁺ˡ (on-each (gone-to pred) (goes pred) c′)
  ...   | true  with proj₁ (sleep (pausing (floor s′) (rung s′) (asked e)) (world s′))
                   | on-each waited-once
                       (waits-once {o = failed {A = ⊤} e} (the-service e) (low path l) (≤-trans (s≤s z≤n) above)) c′
  ...     | nothing | c″ = ++⁺ʳ _ c″
  ...     | just _  | c″ = ++⁺ʳ _ (Any.map proj₂ c″)
  fits (wait p) k w s i l c with eval p s | fits p k w s i l c | walks p s i
  ... | failed _ , s′ | c′ | _ = on-each (gone-to pred) (goes pred) c′
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | well a   , s′ | c′ | path & above
    with proj₁ (sleep (pausing (floor s′) (rung s′) 0) (world s′))
       | on-each waited-once (waits-once {o = well a} nobody (low path l) (≤-trans (s≤s z≤n) above)) c′
  ...   | nothing | c″ = c″
  ...   | just _  | c″ = ++⁺ʳ _ (Any.map proj₂ c″)
  fits (skip p) k w s i l c with eval p s | fits p k w s i l c
  ... | well _   , s′ | c′ = on-each (gone-to pred) (goes pred) c′
  ... | failed _ , s′ | c′ = on-each (gone-to pred) (goes pred) c′
  ... | over _   , s′ | c′ = c′
  fits (tries p on x) k w s i l c with eval p s | fits p k w s i l c | walks p s i
  ... | failed _ , s′ | c′ | _ = ++⁺ˡ (on-each (gone-to (const 0)) (goes (const 0)) c′)
  ... | over _   , s′ | c′ | _ = ++⁺ˡ c′
  ... | well a   , s′ | c′ | path & _ = acted [] _ _ _ (tried-on on x s′) (on-each retried (retries x (low path l)) c′)
  fits (end p) k w s i l c with eval p s | fits p k w s i l c
  ... | well _   , s′ | c′ = on-each (gone-to (const 0)) (goes (const 0)) c′
  ... | failed _ , s′ | c′ = on-each (gone-to (const 0)) (goes (const 0)) c′
  ... | over _   , s′ | c′ = c′
  fits (stands {O = O} p) k w s i l c with eval p s | fits p k w s i l c
  ... | well _   , s′ | c′ = on-each (gone-to (const O)) (goes (const O)) c′
  ... | failed _ , s′ | c′ = on-each (gone-to (const O)) (goes (const O)) c′
  ... | over _   , s′ | c′ = c′

  -- What has happened in a whole run can have happened on one of the ways of its plan.
  the-run-fits : (p : Program top O A) → (told → Told p) → ∀ w → Any (Happened (proj₂ (run p w))) (all-ways p)
  the-run-fits p k w with run p w | fits p k _ (begin w) ≤-refl (≤-refl , λ _ → z≤n)
    (here (refl , happened (λ _ → z≤n) z≤n (λ _ → z≤n)))
  ... | well _   , s | c = ++⁺ˡ (Any.map proj₂ c)
  ... | failed _ , s | c = ++⁺ʳ (wells (plan p _)) (++⁺ˡ (Any.map proj₂ c))
  ... | over _   , s | c = ++⁺ʳ (wells (plan p _)) (++⁺ʳ (faileds (plan p _)) c)

at-most-the-most : ∀ {P : Way → Set} {count n} w → (∀ {w} → P w → n ≤ count w) → Any P w → n ≤ the-most count w
at-most-the-most (w ∷ ws) l (here h)  = ≤-trans (l h) (m≤m⊔n _ _)
at-most-the-most (w ∷ ws) l (there a) = ≤-trans (at-most-the-most ws l a) (m≤n⊔m _ _)

-- THE THEOREMS
a-run-waits-no-more-often-than-its-plan-says : (p : Program top O A) (w : World) →
  length (waits (done p w)) ≤ planned-waits p
a-run-waits-no-more-often-than-its-plan-says p w =
  at-most-the-most (all-ways p) Happened.wait′ (the-run-fits p ⊥-elim w)
  where open Fitting ⊥

a-run-waits-no-longer-than-its-plan-says-unless-a-service-asks-for-time :
  NobodyAsksForTime → (p : Program top O A) (w : World) → sum (waits (done p w)) ≤ planned-seconds p
a-run-waits-no-longer-than-its-plan-says-unless-a-service-asks-for-time none p w =
  at-most-the-most (all-ways p) (λ h → Happened.second′ h none) (the-run-fits p ⊥-elim w)
  where open Fitting ⊥

a-run-tries-no-more-often-than-its-plan-says : (p : Program top O A) → Told p → ∀ w →
  tried (proj₂ (run p w)) ≤ planned-tries p
a-run-tries-no-more-often-than-its-plan-says p known w =
  at-most-the-most (all-ways p) (λ h → Happened.try′ h tt) (the-run-fits p (λ _ → known) w)
  where open Fitting ⊤
