package import AccountLinking

/// What stands on an address.
package enum AddressClaim: Sendable {
    case free
    case owned(UserRecord)
    case reserved(ReservedAddress)

    package var owner: UserRecord? {
        if case .owned(let user) = self { user } else { nil }
    }

    /// Whom the address is reserved for.
    package var reservation: AddressReservation? {
        if case .reserved(let reserved) = self { reserved.reservation } else { nil }
    }

    /// What a write that takes the address comes with.
    package var clearing: [AccountWrite.SideWrite] {
        if case .reserved(let reserved) = self { [.clear(reserved)] } else { [] }
    }
}

/// What a mail to an address needs to know of the account that has the address.
package struct MailRecipient: Sendable {
    /// The account that has the address.
    package var owner: UserID?
    /// The address as the account has it: mail goes there, and not to the spelling of whoever asks.
    package var spelling: EmailAddress?
    package var reservation: AddressReservation?
}

/// A claim that keeps an address for an account which has another one now.
///
/// It is what a live code makes of it: whatever uses, voids or deletes the code ends the reservation, and need not know of it.
/// The claim is left for whoever takes the address next, or for the purge.
package struct ReservedAddress: Sendable, Hashable {
    package let address: EmailAddress
    /// The account that the address is reserved for.
    package let holder: UserID
    /// The latest end of the codes. Every code that adds to the reservation moves it, so it says which one was read.
    package let until: Timestamp
    /// Whom it keeps the address from; `nil` when no code lives: then it keeps it from nobody.
    package internal(set) var reservation: AddressReservation?
}

extension AccountWrite.SideWrite {
    /// Frees a reserved address, where the write claims it: by the account that it is reserved for, by one that a reservation
    /// gives way to, or because none is left. Guarded: if the reservation is another by now, the claim undoes the write.
    package static func clear(_ reserved: ReservedAddress) -> Self { Self([], clearing: reserved) }
}
