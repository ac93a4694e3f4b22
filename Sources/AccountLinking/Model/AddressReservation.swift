/// An address that an account has given up and can take back by a live recovery code (`RECOVER_EMAIL`). Until the code ends, no
/// other account may have the address.
package struct AddressReservation: Sendable, Hashable, Codable {
    package var address: EmailAddress
    /// The account that the code is about.
    package var account: UserID
    /// Whether somebody had shown to own the address when the account gave it up. If not, the reservation gives way to whoever
    /// shows that: otherwise an intruder could keep an owner away from an address by registering it and moving on.
    package var wasProven: Bool

    private enum CodingKeys: String, CodingKey {
        case address = "email"
        case account, wasProven
    }

    package init(address: EmailAddress, account: UserID, wasProven: Bool) {
        self.address = address
        self.account = account
        self.wasProven = wasProven
    }
}
