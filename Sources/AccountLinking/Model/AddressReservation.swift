/// An address that an account gave up and can take back by a live recovery code (`RECOVER_EMAIL`). Until the code ends,
/// no other account may get the address.
package struct AddressReservation: Sendable, Hashable, Codable {
    package var address: EmailAddress
    /// The account of the code.
    package var account: UserID
    /// True if the address was proven when the account gave it up. If false, the first account that proves the address
    /// gets it. Otherwise an intruder could register an address, change it, and block its owner.
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
