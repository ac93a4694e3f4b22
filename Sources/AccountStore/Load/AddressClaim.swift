package import AccountLinking

/// The claim on an address.
package enum AddressClaim: Sendable {
    case free
    case owned(UserRecord)
    case reserved(ReservedAddress)

    package var owner: UserRecord? {
        if case .owned(let user) = self { user } else { nil }
    }

    /// The account and terms of a live reservation.
    package var reservation: AddressReservation? {
        if case .reserved(let reserved) = self { reserved.reservation } else { nil }
    }

    /// Side writes for a write that takes the address.
    package var clearing: [AccountWrite.SideWrite] {
        if case .reserved(let reserved) = self { [.clear(reserved)] } else { [] }
    }
}

/// The facts about an address that a mail to it needs.
package struct MailRecipient: Sendable {
    /// The account that has the address.
    package var owner: UserID?
    /// The account's spelling of the address. Mail goes there, and not to the requester's spelling.
    package var spelling: EmailAddress?
    package var reservation: AddressReservation?
}

/// A claim that reserves an address for an account that now has another one.
///
/// A live code makes the reservation. When the code is used, voided or deleted, the reservation ends without another
/// write. The claim stays until another account takes the address, or the purge deletes it.
package struct ReservedAddress: Sendable, Hashable {
    package let address: EmailAddress
    /// The account that the address is reserved for.
    package let holder: UserID
    /// The latest end of the codes. Every code that extends the reservation changes it, so it identifies the
    /// reservation that was read.
    package let until: Timestamp
    /// The live reservation; `nil` if no code is live: the address is then free.
    package internal(set) var reservation: AddressReservation?
}

extension AccountWrite.SideWrite {
    /// Frees a reserved address if the write claims it: for the account of the reservation, for an account that
    /// overrides it, or because it has expired. Guarded: if the reservation has changed, the claim fails and undoes the
    /// write.
    package static func clear(_ reserved: ReservedAddress) -> Self { Self([], clearing: reserved) }
}
