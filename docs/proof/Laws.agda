{-# OPTIONS --safe #-}
-- The laws of tests/support/laws.py, for all programs, worlds, schedules and Retry-Afters, with or without a
-- floor. They hold up to the number of tries, which a failure's note tells and nothing else does.

open import Calculus

module Laws (signature : Signature) (setting : Language.Setting signature) where

open import Data.Bool using (true; false)
open import Data.List using (List; []; _∷_)
open import Data.Maybe using (Maybe; just; nothing)
open import Data.Nat
open import Data.Nat.Properties using (≤-trans)
open import Data.Product using (_×_; _,_; proj₁; proj₂)
open import Data.Unit using (⊤; tt)
open import Function using (id; _∘_)
open import Relation.Nullary using (yes; no)
open import Relation.Binary.PropositionalEquality

open Signature signature
open Language signature
open Setting setting
open Run setting ends
open import Rungs signature setting

private variable
  A B C : Set
  I O J n m : ℕ

uncounted : Result A → Result A
uncounted (o , s) = o , record s { tried = 0 }

-- Two programs are the same if from every state they come to the same outcome, with the same history,
-- floor, rung and world.
_≈_ : Program I O A → Program I O A → Set
p ≈ q = ∀ s → uncounted (eval p s) ≡ uncounted (eval q s)

infix 3 _≈_

-- (So the same programs are the same wherever they stand in others: no part of a run reads the number of tries,
-- as `nothing-depends-on-the-number-of-tries` says at the end.)

-- A try more changes nothing else.
untried : (x : Attempt A) (s : State) → uncounted (perform x (one-try s)) ≡ uncounted (perform x s)
untried x s = go x s (suc (tried s)) (tried s)
  where
    go : (x : Attempt A) (s : State) → ∀ t t′ →
      uncounted (perform x (record s { tried = t })) ≡ uncounted (perform x (record s { tried = t′ }))
    go (ended o)  s t t′ = refl
    go (asks c k) (state w f r _ h) t t′ = go (k _) (state (proj₂ (answer c w)) f r 0 (issued c ∷ h)) t t′

perform-then : (x : Attempt A) (f : A → Attempt B) (s : State) →
  perform (thenᴬ x f) s ≡ when-well (perform x s) id λ a → perform (f a)
perform-then (ended (well a))   f s = refl
perform-then (ended (failed e)) f s = refl
perform-then (ended (over e))   f s = refl
perform-then (asks c k)         f (state w _ r t h) = perform-then (k _) f _

perform-or-else : (x : Attempt A) (on : On) (y : Attempt A) (s : State) →
  perform (or-elseᴬ x on y) s ≡ when-failed (perform x s) id on λ _ → perform y
perform-or-else (ended (well a))   on y s = refl
perform-or-else (ended (failed e)) on y s with on e
... | true  = refl
... | false = refl
perform-or-else (ended (over e))   on y s = refl
perform-or-else (asks c k)         on y (state w _ r t h) = perform-or-else (k _) on y _


-- `then`, with `pure`, is a monad.

then-left-identity : (v : A) (f : A → Attempt B) → then (do′ (at I) (pure v)) (well ∘ f) ≈ do′ (at I) (f v)
then-left-identity {I = I} v f s = untried (f v) (one-try (to I s))

then-right-identity : (p : Program I O A) → then p (well ∘ pure) ≈ p
then-right-identity p s with eval p s
... | well a   , _ = refl
... | failed e , _ = refl
... | over e   , _ = refl

then-is-associative : (p : Program I O A) (f : A → Attempt B) (g : B → Attempt C) →
  then (then p (well ∘ f)) (well ∘ g) ≈ then p λ a → well (thenᴬ (f a) g)
then-is-associative p f g s with eval p s
... | failed e , _  = refl
... | over e   , _  = refl
... | well a   , s′ rewrite perform-then (f a) g (one-try s′) with perform (f a) (one-try s′)
...   | well b   , s″ = untried (g b) s″
...   | failed e , _  = refl
...   | over e   , _  = refl

map-is-then-pure : (p : Program I O A) (f : A → B) → map p (well ∘ f) ≈ then p (well ∘ pure ∘ f)
map-is-then-pure p f s with eval p s
... | well a   , _ = refl
... | failed e , _ = refl
... | over e   , _ = refl

failure-is-a-left-zero-of-then : (e : Failure) (f : A → Attempt B) →
  then (do′ (at I) (ended (failed e))) (well ∘ f) ≈ do′ (at I) (ended (failed e))
failure-is-a-left-zero-of-then e f s = refl


-- `or-else` is associative, with success as a left zero, and failures that it chooses as left units.

success-is-a-left-zero-of-or-else : (v : A) (on : On) (x : Attempt A) →
  or-else (do′ (at I) (pure v)) on x ≈ do′ (at I) (pure v)
success-is-a-left-zero-of-or-else v on x s = refl

failure-is-a-left-unit-of-or-else : (e : Failure) (on : On) (x : Attempt A) → on e ≡ true →
  or-else (do′ (at I) (ended (failed e))) on x ≈ do′ (at I) x
failure-is-a-left-unit-of-or-else {I = I} e on x chosen s rewrite chosen = untried x (one-try (to I s))

or-else-is-associative : (p : Program I O A) (on : On) (x y : Attempt A) →
  or-else (or-else p on x) on y ≈ or-else p on (or-elseᴬ x on y)
or-else-is-associative p on x y s with eval p s
... | well a   , _ = refl
... | over e   , _ = refl
... | failed e , s′ with on e in chosen
...   | false rewrite chosen = refl
...   | true  rewrite perform-or-else x on y (one-try s′) with perform x (one-try s′)
...     | well b   , _ = refl
...     | over e′  , _ = refl
...     | failed e′ , s″ with on e′
...       | true  = untried y s″
...       | false = refl


-- Programs that are joined compose as their rungs do.

joining-is-associative : {D : Set} (p : Program I O A) (q : Program O J B) (r : Program J n D) →
  (p >> q) >> r ≈ p >> (q >> r)
joining-is-associative p q r s with eval p s
... | well a   , _ = refl
... | failed e , _ = refl
... | over e   , _ = refl

alternatives-are-associative : (on : On) (p : Program I O A) (q : Program O J A) (r : Program J n A) →
  or-join (or-join p on q) on r ≈ or-join p on (or-join q on r)
alternatives-are-associative on p q r s with eval p s
... | well a   , _ = refl
... | over e   , _ = refl
... | failed e , s′ with on e in chosen
...   | true  = refl
...   | false rewrite chosen = refl

binding-is-associative : (l : J ≤ O) (l′ : m ≤ J) (p : Program I O A)
  (f : A → Outcome (Program O J B)) (g : B → Outcome (Program J m C)) →
  bind unsaid l′ (bind unsaid l p f) g ≈ bind unsaid (≤-trans l′ l) p λ a → mapᴼ (λ q → bind unsaid l′ q g) (f a)
binding-is-associative l l′ p f g s with eval p s
... | failed e , _ = refl
... | over e   , _ = refl
... | well a   , s′ with f a
...   | failed e = refl
...   | over e   = refl
...   | well q   with eval q s′
...     | failed e , _  = refl
...     | over e   , _  = refl
...     | well b   , s″ with enter (g b) s″
...       | well c   , _ = refl
...       | failed e , _ = refl
...       | over e   , _ = refl

-- The annotation of a function says what .at(N) after the bind says.
a-bind-that-says-where-it-ends-is-a-bind-with-at : (l : J ≤ O) (p : Program I O A) (f : A → Outcome (Program O J B)) →
  bind said l p f ≈ stands (bind unsaid l p f)
a-bind-that-says-where-it-ends-is-a-bind-with-at l p f s with eval p s
... | failed e , _  = refl
... | over e   , _  = refl
... | well a   , s′ with enter (f a) s′
...   | well b   , _ = refl
...   | failed e , _ = refl
...   | over e   , _ = refl

-- `p >> q` is `p.bind(lambda _: q).at(J)`. Without `.at` it is not: see Counterexamples.
standing : (r : Result A) → StandsOn n r → uncounted (in-any-case r (to n)) ≡ uncounted r
standing (well a   , state w f r t h) refl = refl
standing (failed e , state w f r t h) refl = refl
standing (over e   , s)               _    = refl

a-join-is-a-bind-that-says-where-it-ends : (l : J ≤ O) (p : Program I O A) (q : Program O J B) → Sure q →
  bind said l p (λ _ → well q) ≈ p >> q
a-join-is-a-bind-that-says-where-it-ends l p q sure s with eval p s
... | failed e , _  rewrite bound-is-the-index q sure = refl
... | over e   , _  = refl
... | well a   , s′ = standing (eval q s′) (a-run-stands-where-its-program-is-known-to-end q sure s′)

-- `p.retry(x)` is `p >> at(O).retry(x)`, if it is known that p ends on O.
a-retry-joined-is-a-retry : (p : Program I O A) → Sure p → ∀ on (x : Trying B) → tries p on x ≈ p >> tries (at O) on x
a-retry-joined-is-a-retry p sure on x s with eval p s | a-run-stands-where-its-program-is-known-to-end p sure s
... | well _   , state _ _ _ _ _ | refl = refl
... | failed _ , _               | _    = refl
... | over _   , _               | _    = refl


-- A retry in other steps: at(2).retry(x) is at(2).do(x).backoff().or_else(x).backoff().or_else(x).

expanded : ∀ n → Program I n A → On → (ℕ → Attempt A) → Program I 0 A
expanded zero    p on x = p
expanded (suc n) p on x = expanded n (or-else (backoff p on) on (x n)) on x

rest-well : ∀ n {on} (x : ℕ → Attempt A) {a s} → rest n on (fresh (well ∘ x)) ((well a , s) , tt) ≡ (well a , to 0 s)
rest-well zero    x = refl
rest-well (suc n) x = refl

rest-over : ∀ n {on} (x : ℕ → Attempt A) {e s} → rest n on (fresh (well ∘ x)) ((over e , s) , tt) ≡ (over e , s)
rest-over zero    x = refl
rest-over (suc n) x = refl

rest-unchosen : ∀ n {on} (x : ℕ → Attempt A) {e s} → on e ≡ false →
  rest n on (fresh (well ∘ x)) ((failed e , s) , tt) ≡ (failed e , to 0 s)
rest-unchosen zero    x unchosen rewrite unchosen = refl
rest-unchosen (suc n) x unchosen rewrite unchosen = refl

expanded-is-rest : ∀ n (p : Program I n A) → Sure p → ∀ on (x : ℕ → Attempt A) s →
  eval (end (expanded n p on x)) s ≡ rest n on (fresh (well ∘ x)) (eval p s , tt)
expanded-is-rest zero p sure on x s with eval p s
... | well a   , _ = refl
... | over e   , _ = refl
... | failed e , s′ with on e
...   | true  = refl
...   | false = refl
expanded-is-rest (suc n) p sure on x s
  rewrite expanded-is-rest n (or-else (backoff p on) on (x n)) sure on x s
  with eval p s | a-run-stands-where-its-program-is-known-to-end p sure s
... | well a   , s′ | _ = rest-well n x
... | over e   , s′ | _ = rest-over n x
... | failed e , s′ | here with on e in chosen
...   | false rewrite chosen = rest-unchosen n x chosen
...   | true  rewrite here with sleep (pausing (floor s′) (suc n) (asked e)) (world s′)
...     | nothing , _ rewrite chosen = refl
...     | just _  , _ = rest-over n x

a-retry-is-short-for-other-steps : ∀ n on (x : ℕ → Attempt A) →
  retry-with (at n) on (well ∘ x) ≈ end (expanded n (do′ (at n) (x n)) on x)
a-retry-is-short-for-other-steps n on x s = sym (cong uncounted (expanded-is-rest n (do′ (at n) (x n)) _ on x s))

a-retry-at-N0-is-do : ∀ on (x : ℕ → Attempt A) → retry-with (at 0) on (well ∘ x) ≈ end (do′ (at 0) (x 0))
a-retry-at-N0-is-do = a-retry-is-short-for-other-steps 0


-- No part of a run depends on how many tries there have been.

data Same : State → State → Set where
  alike : ∀ {w f r t t′ h} → Same (state w f r t h) (state w f r t′ h)

data SameResult {A : Set} : Result A → Result A → Set where
  comes : ∀ {o s s′} → Same s s′ → SameResult (o , s) (o , s′)

Goes : (State → State) → Set
Goes pass = ∀ {s s′} → Same s s′ → Same (pass s) (pass s′)

goes-to : Goes (to n)
goes-to alike = alike

goes-down : Goes down
goes-down alike = alike

goes-left : ∀ exit → Goes (left exit J)
goes-left said   alike = alike
goes-left unsaid x    = x

same-well : ∀ {pass} {act : A → State → Result B} {r r′} → SameResult r r′ → Goes pass →
  (∀ a {s s′} → Same s s′ → SameResult (act a s) (act a s′)) → SameResult (when-well r pass act) (when-well r′ pass act)
same-well (comes {o = well a}   x) goes acts = acts a x
same-well (comes {o = failed e} x) goes acts = comes (goes x)
same-well (comes {o = over e}   x) goes acts = comes x

same-failed : ∀ {pass on} {act : Failure → State → Result A} {r r′} → SameResult r r′ → Goes pass →
  (∀ e {s s′} → Same s s′ → SameResult (act e s) (act e s′)) →
  SameResult (when-failed r pass on act) (when-failed r′ pass on act)
same-failed (comes {o = well a} x) goes acts = comes (goes x)
same-failed {on = on} (comes {o = failed e} x) goes acts with on e
... | true  = acts e x
... | false = comes (goes x)
same-failed (comes {o = over e} x) goes acts = comes x

same-any : ∀ {pass} {r r′ : Result A} → SameResult r r′ → Goes pass →
  SameResult (in-any-case r pass) (in-any-case r′ pass)
same-any (comes {o = well a}   x) goes = comes (goes x)
same-any (comes {o = failed e} x) goes = comes (goes x)
same-any (comes {o = over e}   x) goes = comes x

same-perform : (x : Attempt A) → ∀ {s s′} → Same s s′ → SameResult (perform x s) (perform x s′)
same-perform (ended o)  x    = comes x
same-perform (asks c k) alike = same-perform (k _) alike

same-try : (x : Outcome (Attempt A)) → ∀ {s s′} → Same s s′ → SameResult (try x s) (try x s′)
same-try (well x)   alike = same-perform x alike
same-try (failed e) x    = comes x
same-try (over e)   x    = comes x

same-waiting : ∀ a (o : Outcome A) {s s′} → Same s s′ → SameResult (waiting a o s) (waiting a o s′)
same-waiting a o alike = comes alike

-- A try's result and what it remembers.
data SameTry {A L : Set} : Result A × L → Result A × L → Set where
  remembers : ∀ {r r′ l} → SameResult r r′ → SameTry (r , l) (r′ , l)

same-replay : (x : Attempt A) → ∀ log {s s′} → Same s s′ → SameTry (replay x log s) (replay x log s′)
same-replay (ended o)  log x = remembers (comes x)
same-replay (asks c k) [] {state w f r t h} {state w f r t′ h} alike
  with replay (k (proj₁ (answer c w))) [] (state (proj₂ (answer c w)) f r t (issued c ∷ h))
     | replay (k (proj₁ (answer c w))) [] (state (proj₂ (answer c w)) f r t′ (issued c ∷ h))
     | same-replay (k (proj₁ (answer c w))) [] {state (proj₂ (answer c w)) f r t (issued c ∷ h)} {state _ _ _ t′ _} alike
... | _ | _ | remembers x = remembers x
same-replay (asks c k) ((d , o) ∷ log) {s} {s′} x with d same c
... | no _     = remembers (same-perform (k _) x)
... | yes refl with replay (k o) log s | replay (k o) log s′ | same-replay (k o) log x
...   | _ | _ | remembers y = remembers y

same-again : (x : Attempt A) → ∀ log {s s′} → Same s s′ → SameTry (again x log s) (again x log s′)
same-again x log {s} {s′} alike
  with replay x log (one-try s) | replay x log (one-try s′) | same-replay x log {one-try s} {one-try s′} alike
... | _ , just _  | _ | remembers (comes {o = well a}   y) = remembers (comes y)
... | _ , just _  | _ | remembers (comes {o = failed e} y) = remembers (comes y)
... | _ , just _  | _ | remembers (comes {o = over e}   y) = remembers (comes y)
... | _ , nothing | _ | remembers (comes {o = well a}   y) = remembers (comes y)
... | _ , nothing | _ | remembers (comes {o = failed e} y) = remembers (comes y)
... | _ , nothing | _ | remembers (comes {o = over e}   y) = remembers (comes y)

same-rest : ∀ {L : Set} {on} (attempt : L → State → Result A × L) →
  (∀ l {s s′} → Same s s′ → SameTry (attempt l s) (attempt l s′)) →
  ∀ n {r r′} → SameTry r r′ → SameResult (rest n on attempt r) (rest n on attempt r′)
same-rest attempt keeps zero (remembers x) = same-failed x goes-to λ { e alike → comes alike }
same-rest {A = A} attempt keeps (suc n) (remembers {l = l} x) = same-failed x goes-to λ e y →
  same-failed (same-waiting (asked e) (failed {A = A} e) y) id λ _ z → same-rest attempt keeps n (keeps l z)

same-tried : ∀ {on} (x : Trying A) → ∀ {s s′} → Same s s′ → SameResult (tried-on on x s) (tried-on on x s′)
same-tried (afresh x) {state _ _ r _ _} alike = same-rest (fresh x) try-again r (try-again tt alike)
  where
    try-again : ∀ l {s s′} → Same s s′ → SameTry (fresh x l s) (fresh x l s′)
    try-again l {state _ _ r _ _} alike = remembers (same-try (x r) alike)
same-tried (resumed x) {state _ _ r _ _} alike = same-rest (again x) (same-again x) r (same-again x [] alike)

mutual
  same-eval : (p : Program I O A) → ∀ {s s′} → Same s s′ → SameResult (eval p s) (eval p s′)
  same-eval (at I)              alike = comes alike
  same-eval (then p f)          x = same-well (same-eval p x) id λ a → same-try (f a)
  same-eval (map p f)           x = same-well (same-eval p x) id λ a → comes
  same-eval (or-else p on y)    x = same-failed (same-eval p x) id λ _ → same-try (well y)
  same-eval (bind exit _ p f)    x = same-well (same-eval p x) (goes-left exit) λ a y →
    same-any (same-enter (f a) y) (goes-left exit)
  same-eval (or-bind exit _ p on f) x = same-failed (same-eval p x) (goes-left exit) λ e y →
    same-any (same-enter (f e) y) (goes-left exit)
  same-eval (p >> q)            x = same-well (same-eval p x) goes-to λ _ → same-eval q
  same-eval (or-join p on q)    x = same-failed (same-eval p x) goes-to λ _ → same-eval q
  same-eval {A = A} (backoff p on) x = same-failed (same-eval p x) goes-down λ e →
    same-waiting (asked e) (failed {A = A} e)
  same-eval (wait p)            x = same-well (same-eval p x) goes-down λ a → same-waiting 0 (well a)
  same-eval (skip p)            x = same-any (same-eval p x) goes-down
  same-eval (tries p on y)      x = same-well (same-eval p x) goes-to λ _ → same-tried y
  same-eval (end p)         x = same-any (same-eval p x) goes-to
  same-eval (stands p)          x = same-any (same-eval p x) goes-to

  same-enter : (o : Outcome (Program I O A)) → ∀ {s s′} → Same s s′ → SameResult (enter o s) (enter o s′)
  same-enter (well q)   x = same-eval q x
  same-enter (failed e) x = comes x
  same-enter (over e)   x = comes x

nothing-depends-on-the-number-of-tries : (p : Program I O A) → ∀ {s s′} → Same s s′ → SameResult (eval p s) (eval p s′)
nothing-depends-on-the-number-of-tries = same-eval
