// The declarations of the SDK for Android that the guides use, from its reference documentation (the SDK has no public
// sources). The names in the guides are compared with them. If `kotlinc` is installed, it also compiles the guides.
package com.google.firebase.auth

import com.google.android.gms.tasks.Task

abstract class FirebaseAuth {
    abstract fun useEmulator(host: String, port: Int)
    abstract fun signInWithCredential(credential: AuthCredential): Task<AuthResult>

    companion object {
        fun getInstance(): FirebaseAuth = throw UnsupportedOperationException()
    }
}

abstract class AuthCredential

interface AuthResult {
    val user: FirebaseUser?
}

abstract class FirebaseUser {
    abstract fun linkWithCredential(credential: AuthCredential): Task<AuthResult>
}

open class FirebaseAuthException(val errorCode: String, message: String) : Exception(message)

class FirebaseAuthUserCollisionException(code: String, message: String) : FirebaseAuthException(code, message) {
    val email: String? = null
    val updatedCredential: AuthCredential? = null
}
