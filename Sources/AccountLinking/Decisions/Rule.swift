/// A row of the decision tables (docs/decisions.md): the answer to "why was it decided so?".
///
/// The raw value is the identifier as it is written and stored. Identifiers are stable names, not an order; they are
/// never reused. Rows I, L, M, N, P, R and U are those of the contract; the others are Concord's own.
package enum Rule: String, Sendable, Hashable, CaseIterable {
    // Sign-in with a provider (`decideSignInWithIdp`).
    case i0 = "I0"
    case i1 = "I1"
    case i2 = "I2"
    case i3 = "I3"
    case i4 = "I4"
    case i5 = "I5"
    case i6 = "I6"
    case i7 = "I7"
    case i8 = "I8"
    case i9 = "I9"
    case i10 = "I10"
    case i11 = "I11"
    case i12 = "I12"
    case i13 = "I13"
    case i14 = "I14"
    case i15 = "I15"

    // Linking a provider to the account of the session (`decideLinkWithIdp`).
    case l0 = "L0"
    case l1 = "L1"
    case l2 = "L2"
    case l3 = "L3"
    case l4 = "L4"
    case l5 = "L5"
    case l6 = "L6"
    case l7 = "L7"
    case l8 = "L8"
    case l9 = "L9"

    // Sign-in or link by mailed link (`decideSignInWithEmailLink`).
    case m0 = "M0"
    case m1 = "M1"
    case m2 = "M2"
    case m3 = "M3"
    case m4 = "M4"
    case m5 = "M5"
    case m6 = "M6"
    case m7 = "M7"
    case m8 = "M8"
    case m9 = "M9"
    case m10 = "M10"

    // Sign-in or link by a telephone number, and codes sent there (`decideSignInWithPhone`, `decideSendPhoneCode`).
    case n0 = "N0"
    case n1 = "N1"
    case n2 = "N2"
    case n3 = "N3"
    case n4 = "N4"
    case n5 = "N5"
    case n6 = "N6"
    case n7 = "N7"
    case n8 = "N8"
    case n9 = "N9"
    case n10 = "N10"
    case n12 = "N12"
    case n13 = "N13"
    case n14 = "N14"
    case n15 = "N15"

    // Sign-up, setting a first password, creation by an administrator (`decideSignUp`, `decideCreateByAdmin`).
    case p1 = "P1"
    case p2 = "P2"
    case p3 = "P3"
    case p4 = "P4"
    case p5 = "P5"
    case p6 = "P6"
    case p7 = "P7"
    case p8 = "P8"
    case p9 = "P9"
    case p10 = "P10"
    case p11 = "P11"
    case p12 = "P12"
    case p13 = "P13"
    case p14 = "P14"
    case p15 = "P15"
    case p16 = "P16"
    case p17 = "P17"

    // Completing a password reset (`decideResetPassword`).
    case r0 = "R0"
    case r1 = "R1"
    case r2 = "R2"
    case r3 = "R3"
    case r4 = "R4"
    case r5 = "R5"
    case r6 = "R6"
    case r7 = "R7"

    // Changing the address (`decideChangeEmail`, `decideApplyEmailCode`).
    case u0 = "U0"
    case u1 = "U1"
    case u2 = "U2"
    case u3 = "U3"
    case u4 = "U4"
    case u5 = "U5"
    case u6 = "U6"
    case u7 = "U7"
    case u9 = "U9"
    case u10 = "U10"
    case u11 = "U11"
    case u12 = "U12"
    case u13 = "U13"
    case u14 = "U14"

    // Verifying the address (`decideVerifyEmail`).
    case v1 = "V1"
    case v2 = "V2"
    case v3 = "V3"
    case v4 = "V4"

    // Sign-in with a password (`decideSignInWithPassword`).
    case s1 = "S1"
    case s2 = "S2"
    case s3 = "S3"
    case s4 = "S4"
    case s5 = "S5"
    case s6 = "S6"
    case s7 = "S7"

    // Sign-in with a custom token (`decideSignInWithCustomToken`).
    case c1 = "C1"
    case c2 = "C2"
    case c3 = "C3"

    // Changing the password (`decideChangePassword`).
    case w1 = "W1"
    case w2 = "W2"
    case w3 = "W3"
    case w4 = "W4"

    // Removing providers and attributes (`decideUnlink`, `decideRemoveMethod`).
    case k1 = "K1"
    case k2 = "K2"
    case k3 = "K3"
    case k4 = "K4"
    case k5 = "K5"
    case k6 = "K6"

    // Methods in quarantine (`decideRestorePassword`, `decideDiscardQuarantined`).
    case b1 = "B1"
    case b2 = "B2"
    case b3 = "B3"
    case b4 = "B4"
    case b5 = "B5"
    case b6 = "B6"
    case b7 = "B7"
    case b8 = "B8"

    // Editing the profile (`decideEditProfile`).
    case f1 = "F1"
    case f2 = "F2"
    case f3 = "F3"

    // Deleting an account (`decideDelete`).
    case d1 = "D1"
    case d2 = "D2"
    case d3 = "D3"
    case d4 = "D4"
    case d5 = "D5"

    // Updates by an administrator (`decideUpdateByAdmin`).
    case x1 = "X1"
    case x2 = "X2"
    case x3 = "X3"
    case x4 = "X4"
    case x5 = "X5"
    case x6 = "X6"

    // What a presented ID token is still good for (`decideAccess`).
    case a1 = "A1"
    case a2 = "A2"
    case a3 = "A3"
    case a4 = "A4"
    case a5 = "A5"

    // What a presented refresh token is still good for (`decideRefresh`).
    case t1 = "T1"
    case t2 = "T2"
    case t3 = "T3"
    case t4 = "T4"
    case t5 = "T5"

    // Coming back with a pending credential (`decidePendingCredential`).
    case y1 = "Y1"
    case y2 = "Y2"
    case y3 = "Y3"
    case y4 = "Y4"
    case y5 = "Y5"
    case y6 = "Y6"

    // Whether a conflict lives and what proves it (`decideProveConflict`, `decideStartProof`, `decideProveBySession`).
    case q1 = "Q1"
    case q2 = "Q2"
    case q3 = "Q3"
    case q4 = "Q4"
    case q5 = "Q5"
    case q6 = "Q6"
    case q7 = "Q7"
    case q8 = "Q8"
    case q9 = "Q9"
    case q10 = "Q10"
    case q11 = "Q11"
    case q12 = "Q12"
    case q13 = "Q13"
    case q14 = "Q14"
    case q15 = "Q15"
    case q16 = "Q16"

    // Settling a conflict (`decideResolveConflict`).
    case j1 = "J1"
    case j2 = "J2"
    case j3 = "J3"
    case j4 = "J4"
    case j5 = "J5"
    case j6 = "J6"
    case j7 = "J7"
    case j8 = "J8"
    case j9 = "J9"
    case j10 = "J10"
    case j11 = "J11"
    case j12 = "J12"
    case j13 = "J13"
    case j14 = "J14"
}
