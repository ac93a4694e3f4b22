// The declarations of `com.google.android.gms.tasks` that the guides use. `auth.kt` says why.
package com.google.android.gms.tasks

abstract class Task<TResult> {
    abstract val exception: Exception?
    abstract fun <R> continueWithTask(continuation: (Task<TResult>) -> Task<R>): Task<R>
    abstract fun <R> onSuccessTask(successContinuation: (TResult) -> Task<R>): Task<R>
}
