/// Makes a value that holds it be passed by its address, because what an existential holds is known at run time only. Without it the
/// compiler copies a large value for each function that is given it: for every rule that is asked of every account.
struct PassedByAddress: Sendable {
    private let nothing: (any Sendable)? = nil
}
