import AccountLinking
import AccountTestSupport
import Testing

private let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)

private func device(
    _ id: UInt8 = 1,
    slot: Int32 = 1,
    epoch: Int64 = 7,
    created: Timestamp = noon,
    used: Timestamp = noon,
    expires: Timestamp = noon.adding(seconds: 90)
) -> Device {
    Device(
        id: [id],
        slot: slot,
        sessionEpoch: epoch,
        name: nil,
        createdAt: created,
        lastUsedAt: used,
        expiresAt: expires
    )
}

/// When an account knows a device, and which place a device takes.
struct DeviceRows {
    private let presented = PresentedDevice(id: [1], createdAt: noon)

    @Test func `a device is known only if every condition holds, and the first one that fails is the reason`() {
        var choices = Choices()
        var seen: Set<DeviceObstacle?> = []
        while choices.next() {
            let account: Account? =
                switch choices.choose(below: 4) {
                case 0: nil
                case 1: .fixture("a", email: ann, disabled: true)
                case 2: .fixture("a")
                default: .fixture("a", email: ann)
                }
            let isThere = choices.chooseBool()
            let isSameRow = choices.chooseBool()
            let epoch: Int64 = choices.choose(from: [6, 7, 8])
            let secondsLeft: Int64 = choices.choose(from: [-1, 0, 1])
            let asked = choices.choose(from: [ann, address("ANN@gmail.com"), bob])
            let row = device(
                epoch: epoch,
                created: isSameRow ? noon : noon.adding(seconds: 1),
                expires: noon.adding(seconds: secondsLeft)
            )
            let expected: DeviceObstacle? =
                if account == nil { .accountGone } else if account?.isDisabled == true {
                    .accountDisabled
                } else if !isThere { .forgotten } else if !isSameRow { .registeredAgain } else if epoch != 7 {
                    .sessionsEnded
                } else if secondsLeft <= 0 { .expired } else { nil }
            let found = obstacle(to: presented, device: isThere ? row : nil, of: account, now: noon)
            #expect(found == expected)
            let toMethods = obstacleToMethods(
                of: account,
                for: presented,
                device: isThere ? row : nil,
                about: asked,
                now: noon
            )
            let isOwn = account?.email != nil && asked != bob
            #expect(toMethods == (expected ?? (isOwn ? nil : .otherAddress)))
            seen.insert(toMethods)
        }
        #expect(seen == Set(DeviceObstacle.allCases.map(Optional.some) + [nil]), "every obstacle is reached")
    }

    @Test func `the row of another device is no row of the token`() {
        #expect(obstacle(to: presented, device: device(2), of: .fixture("a"), now: noon) == .forgotten)
    }

    private func place(
        of id: UInt8,
        _ devices: [Device],
        _ revocation: DeviceRevocation? = nil,
        signedInAt: Timestamp = noon
    ) -> DevicePlace? {
        decideDevicePlace(
            of: [id],
            among: AccountDevices(devices, revocation: revocation),
            sessionEpoch: 7,
            signedInAt: signedInAt,
            now: noon
        )
    }

    @Test func `a known device is renewed, and one that is no longer known is replaced in its slot`() {
        let others = [device(2, slot: 2), device(3, slot: 3)]
        let live = device(1, slot: 4)
        #expect(place(of: 1, others + [live]) == .renew(live))
        for ended in [device(1, slot: 4, epoch: 6), device(1, slot: 4, expires: noon)] {
            #expect(place(of: 1, others + [ended]) == .replace(ended))
        }
    }

    @Test func `a new device takes the first free slot`() {
        #expect(place(of: 9, []) == .take(slot: 1))
        #expect(place(of: 9, [device(1, slot: 1), device(3, slot: 3)]) == .take(slot: 2))
        let all = (1...Device.countMax).map { device(UInt8($0), slot: $0, epoch: 6) }
        for gap in all {
            #expect(place(of: 99, all.filter { $0 != gap }) == .take(slot: gap.slot), "also if others have ended")
        }
    }

    @Test func `without a free slot a new device replaces an ended one, or else the one with the earliest use`() {
        let live = (1...Device.countMax).map { number in
            device(UInt8(number), slot: number, used: noon.adding(seconds: Int64(number) * 7 % 20))
        }
        let earliest = live.filter { $0.slot == 20 }
        #expect(place(of: 99, live) == .replace(earliest[0]))
        for number in live.indices {
            for ended in [
                device(live[number].id[0], slot: live[number].slot, epoch: 6, used: noon.adding(seconds: 80)),
                device(live[number].id[0], slot: live[number].slot, used: noon.adding(seconds: 80), expires: noon),
            ] {
                var devices = live
                devices[number] = ended
                #expect(place(of: 99, devices) == .replace(ended))
            }
        }
        let same = (1...Device.countMax).map { device(UInt8($0), slot: $0) }
        #expect(place(of: 99, same.reversed()) == .replace(same[0]), "of equals the first slot")
    }

    @Test func `after a revocation, sessions from before renew known devices and make no other known`() {
        let live = device(1, slot: 4)
        for epoch in [6, 7] as [Int64] {
            for secondsLater in [-1, 0, 1] as [Int64] {
                let revocation = DeviceRevocation(slot: 3, sessionEpoch: epoch, revokedAt: noon)
                let signedInAt = noon.adding(seconds: secondsLater)
                let isRefused = epoch == 7 && secondsLater <= 0
                #expect(place(of: 1, [live], revocation, signedInAt: signedInAt) == .renew(live))
                #expect(
                    place(of: 2, [live], revocation, signedInAt: signedInAt) == (isRefused ? nil : .take(slot: 1))
                )
                let ended = device(1, slot: 4, expires: noon)
                #expect(
                    place(of: 1, [ended], revocation, signedInAt: signedInAt) == (isRefused ? nil : .replace(ended))
                )
            }
        }
    }

    @Test func `a revocation keeps its slot, also if all others are taken`() {
        let revocation = DeviceRevocation(slot: 1, sessionEpoch: 7, revokedAt: noon.adding(seconds: -1))
        #expect(place(of: 9, [], revocation) == .take(slot: 2))
        let others = (2...Device.countMax).map { device(UInt8($0), slot: $0) }
        #expect(place(of: 99, others, revocation) == .replace(others[0]))
    }
}
